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
ASSIGNMENTS = r"(?:[A-Z_]+=\S+ )*"
COMMAND = re.compile(rf"(?:\$ )?({ASSIGNMENTS}(?:tidegate|curl|envoy|python|make|docker|\.) .*?)(?:\s+#.*)?")

SERVERS = {
    "tidegate serve": "listening",
    "envoy -c": "starting main dispatch loop",
    "python -m http.server": "Serving HTTP",
}
"""Commands that go on until they are ended, and what they say once they are up."""

ASKS = (
    "tidegate status",
    "tidegate explain",
    "tidegate events",
    "tidegate nodes",
    "tidegate diff",
    "tidegate rollback",
    "tidegate audit",
    "tidegate export",
    "tidegate gateways",
    "tidegate switch",
    "curl",
)
"""Commands that need a server."""

RUN_ELSEWHERE = {
    "make .venv": "it made the environment in which this test runs",
    ". .venv/bin/activate": "as above",
    "make demo": "tests/envoy/test_demo.py",
    "tidegate demo --by-hand": "tests/envoy/test_demo.py",
    "make test": "this is it",
    "make bench": "tests/unit/bench",
    "make bench ARGS=--quick": "tests/unit/bench",
    'make bench ARGS="--only flat"': "tests/unit/bench",
    "docker compose up --build --detach --wait": "tests/compose",
}


def code(page: Path) -> list[str]:
    """The lines of a page's code: those of indented blocks, and of blocks between fences that are a shell's or unnamed."""
    lines, fence = list[str](), None
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fence = line[3:] if fence is None else None
        elif fence in ("", "sh") or (fence is None and line.startswith("    ")):
            lines.append(line.strip())
    return lines


def commands(page: Path) -> list[str]:
    """The commands of a page in their order, but for those that are run elsewhere."""
    found = [match[1] for line in code(page) if (match := COMMAND.fullmatch(line))]
    return [command for command in found if command not in RUN_ELSEWHERE]


def program(command: str) -> str:
    """A command without the variables before it."""
    return re.sub(f"^{ASSIGNMENTS}", "", command)


class Shell:
    """Runs a page's commands from a checkout's root, servers in the background."""

    def __init__(self, folder: Path, logs: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._logs = logs
        self._stack = stack
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {"PATH": path, "PYTHONUNBUFFERED": "1"}
        self._servers: list[Child] = []

    async def run(self, command: str) -> str:
        """Run one command; what it printed, or "" for a server."""
        if program(command).startswith(tuple(SERVERS)):
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

    def check(self) -> None:
        """Servers that were started run still."""
        for child in self._servers:
            assert child.returncode is None, f"{child.name}\n{child.tail()}"

    async def _serve(self, command: str) -> None:
        log = self._logs / f"{len(list(self._logs.iterdir()))}.log"
        line = f"cd {self._folder} && exec env {command}"
        child = await Child.spawn(command, ["sh", "-c", line], log=log, environment=self._environment)
        self._stack.push_async_callback(child.kill)
        words = next(words for start, words in SERVERS.items() if program(command).startswith(start))

        async def up() -> bool:
            assert child.returncode is None, f"{command}\n{child.tail()}"
            return words in log.read_text()

        await until(up, within=20, what=f"{command} is up")
        self._servers.append(child)


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


QUICK_START = ROOT / "docs" / "quickstart.md"
"""Has a test of its own, which runs all of its commands, too."""

CONTAINERS = ROOT / "docs" / "compose.md"
"""Its commands need Docker: `tests/compose` runs them."""

CLUSTERS = (ROOT / "docs" / "kubernetes-install.md", ROOT / "docs" / "kubernetes-crds.md")
"""Their commands need a cluster: `tests/cluster` and `tests/kube/test_crds.py` run them."""

ELSEWHERE = (QUICK_START, CONTAINERS, *CLUSTERS)
ASKS_A_CLUSTER = {"kubectl"}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if commands(page) and page not in ELSEWHERE],
    ids=lambda page: str(page.relative_to(ROOT)),
)
async def test_the_commands_of(page: Path, shell: Shell) -> None:
    given = commands(page)
    asks = any(command.startswith(ASKS) for command in given)
    if asks and not any(program(command).startswith("tidegate serve") for command in given):
        await shell.run("tidegate serve --files docs/example")  # a page for who has a server already
    for command in given:
        await shell.run(command)
    shell.check()


async def test_the_quick_start_shows_what_it_says(shell: Shell) -> None:
    printed = {command: await shell.run(command) for command in commands(QUICK_START)}
    shell.check()
    for port in (10000, 10001):
        assert "Directory listing" in printed[f"curl http://127.0.0.1:{port}/"]
    assert "shop/checkout" in printed["tidegate gateways"]
    assert "envoy-1" in printed["tidegate nodes"]
    assert "1.40" in printed["tidegate nodes envoy-1"]


ALL = [command for page in PAGES if page not in (CONTAINERS, *CLUSTERS) for command in commands(page)]


async def test_a_wrong_command_in_the_docs_fails(shell: Shell) -> None:
    """So that the tests above can fail, for each kind of command, one that runs on included."""
    kinds = {" ".join(program(command).split()[:2]): command for command in ALL}
    assert len(kinds) > 12
    for command in kinds.values():
        with pytest.raises(AssertionError, match="no-such-flag"):
            await shell.run(f"{command} --no-such-flag")


async def test_a_question_that_is_answered_with_an_error_fails(shell: Shell) -> None:
    await shell.run("tidegate serve --files docs/example")
    for command in ("tidegate nodes nobody", "tidegate explain lds nothing", "curl http://127.0.0.1:19000/nowhere"):
        with pytest.raises(AssertionError, match=re.escape(command)):
            await shell.run(command)


def test_no_command_of_the_docs_is_overlooked() -> None:
    """What stands in the docs' code and begins with a program is a command to these tests."""
    words = {program(line.removeprefix("$ ")).split(" ")[0] for page in PAGES for line in code(page)}
    programs = {
        word for word in words if shutil.which(word, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    }
    assert {"tidegate", "envoy", "curl", "make"} <= programs
    assert {each for each in programs if not COMMAND.fullmatch(f"{each} x")} <= ASKS_A_CLUSTER
    assert any(command.startswith("OTEL_EXPORTER_OTLP_ENDPOINT=") for command in ALL)
    assert "envoy/README.md" in {str(page.relative_to(ROOT)) for page in PAGES if commands(page)}
    for command, where in RUN_ELSEWHERE.items():
        assert not where.startswith("tests/") or (ROOT / where).exists(), command
