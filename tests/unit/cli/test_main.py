"""The command line as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.cli.conftest import Command

COMMANDS = {
    "serve",
    "demo",
    "validate",
    "render",
    "status",
    "gateways",
    "nodes",
    "diff",
    "rollback",
    "switch",
    "switches",
    "audit",
    "explain",
    "events",
    "export",
    "crds",
    "webhook",
}
HEAVY = ("grpc", "aiohttp", "pydantic", "google.protobuf", "envoy", "ruamel", "structlog", "opentelemetry")


def test_the_commands_are_those_of_this_part(tidegate: Command) -> None:
    text = tidegate("--help").output
    listed = text.partition("Commands:")[2].splitlines()
    assert {line.split()[0] for line in listed if line.strip()} == COMMANDS


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_of_the_same_look(tidegate: Command, command: str, flag: str) -> None:
    text = tidegate(command, flag).output
    assert f" {command} [OPTIONS]" in text
    assert "  -h, --help" in text
    assert text.isascii(), "no boxes"
    assert "<bool>" not in text


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from xds_server.cli.main import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "xds_server", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tidegate ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["validate"],
        ["render"],
        ["serve", "--nonsense"],
        ["nodes", "-o", "xml"],
        ["serve", "--log-level", "x"],
    ],
)
def test_wrong_usage_is_2(tidegate: Command, arguments: list[str]) -> None:
    tidegate(*arguments, code=2)
