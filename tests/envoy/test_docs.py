"""Every command of the docs is run as written, on the ports that the docs name."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from xds_server.demo.polling import until
from xds_server.demo.processes import Child

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "envoy" / "README.md"]
COMMAND = re.compile(r"^    (?:\$ )?((?:tidegate|curl|envoy|python|make|\.) .*?)(?:\s+#.*)?$", re.MULTILINE)

SERVERS = ("tidegate serve", "envoy -c", "python -m http.server", "tidegate demo")
"""Commands that go on until they are ended."""

ASKS = (
    "tidegate status",
    "tidegate explain",
    "tidegate events",
    "tidegate nodes",
    "tidegate diff",
    "tidegate rollback",
    "tidegate audit",
    "tidegate export",
    "curl",
)
"""Commands that need a server."""

RUN_ELSEWHERE = {
    "make .venv": "it made the environment in which this test runs",
    ". .venv/bin/activate": "as above",
    "make demo": "tests/envoy/test_demo.py",
    "make test": "this is it",
    "tidegate demo": "tests/envoy/test_demo.py",
}


def commands(page: Path) -> list[str]:
    """The commands of a page in their order."""
    return [command for command in COMMAND.findall(page.read_text()) if command not in RUN_ELSEWHERE]


class Shell:
    """Runs a page's commands from a checkout's root, servers in the background."""

    def __init__(self, folder: Path, logs: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._logs = logs
        self._stack = stack
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {"PATH": path}

    async def run(self, command: str) -> str:
        """Run one command; what it printed, or "" for a server."""
        if command.startswith(SERVERS):
            await self._serve(command)
            return ""
        return await until(lambda: self._once(command), within=20, what=command, interval=0.3)

    async def _once(self, command: str) -> str | None:
        process = await asyncio.create_subprocess_shell(
            command.replace("curl ", "curl --fail --silent --show-error "),
            cwd=self._folder,
            env={**os.environ, **self._environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        # A server that was started a moment ago may not listen yet, or not have read its files; anything else fails at once.
        if process.returncode and (b"onnect" in output or b"no group" in output):
            return None
        assert process.returncode == 0, f"{command}\n{output.decode()}"
        return output.decode() or " "

    async def _serve(self, command: str) -> None:
        log = self._logs / f"{len(list(self._logs.iterdir()))}.log"
        line = f"cd {self._folder} && exec {command}"
        child = await Child.spawn(command, ["sh", "-c", line], log=log, environment=self._environment)
        self._stack.push_async_callback(child.kill)
        await asyncio.sleep(0.5)
        assert child.returncode is None, child.tail()


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    """A shell in a copy of what the docs' commands touch."""
    folder, logs = tmp_path / "checkout", tmp_path / "logs"
    for part in ("docs/example", "envoy"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copytree(ROOT / "docs/example", folder / "config")
    logs.mkdir()
    async with AsyncExitStack() as stack:
        yield Shell(folder, logs, stack)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
async def test_the_commands_of(page: Path, shell: Shell) -> None:
    given = commands(page)
    asks = any(command.startswith(ASKS) for command in given)
    if asks and not any(command.startswith("tidegate serve") for command in given):
        await shell.run("tidegate serve --files docs/example")  # a page for who has a server already
    for command in given:
        await shell.run(command)


async def test_the_quick_start_shows_what_it_says(shell: Shell) -> None:
    printed = {command: await shell.run(command) for command in commands(ROOT / "docs" / "quickstart.md")}
    assert "Directory listing" in printed["curl http://127.0.0.1:10000/"]
    assert "envoy-1" in printed["tidegate nodes"]
    assert "1.40" in printed["tidegate nodes envoy-1"]
