"""Runs commands in this process, and serves an admin API for them to ask."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner, Result

from tests.unit.admin.world import World
from xds_server.admin import AdminServer
from xds_server.cli.main import app
from xds_server.settings import Address


@dataclass
class Command:
    """The command line; `admin` is the API that the operators' commands ask."""

    admin: str | None = None

    def __call__(self, *arguments: str, code: int = 0) -> Result:
        """Run it, and check its exit code."""
        environment = {"TIDEGATE_ADMIN_URL": self.admin}
        result = CliRunner(env=environment).invoke(app, list(arguments))
        assert result.exit_code == code, result.output
        return result


@pytest.fixture
def tidegate() -> Command:
    return Command()


@pytest.fixture
def served(tidegate: Command) -> Iterator[Command]:
    """The command line beside a running admin API over a small world."""
    with asyncio.Runner() as runner:
        server = AdminServer(World().deps())
        tidegate.admin = f"http://{runner.run(server.start(Address('127.0.0.1:0')))}"
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        yield tidegate
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        runner.run(server.stop())
