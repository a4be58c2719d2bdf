"""Start programs, wait until they are up, and leave none behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import xds_server
from xds_server.demo import tether
from xds_server.demo.polling import until


class ProcessEndedError(Exception):
    """A program ended that should still run; the message holds the end of its log."""


class Child:
    """One program whose output goes to a file. It dies with this process, however this one ends (Linux)."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        """Wrap a process that `spawn` started; `log` receives its standard output and error."""
        self.name = name
        self.log = log
        self._process = process

    @classmethod
    async def spawn(
        cls, name: str, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None
    ) -> Child:
        """Start `command` (looked up on PATH) with `environment` added to this process's own."""
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                # A session of its own, so that Ctrl-C reaches only us and we stop things in order.
                start_new_session=True,
            )
        return cls(name, process, log)

    @property
    def pid(self) -> int:
        """The process id; the tether execs, so it is the program's own."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._process.returncode

    def tail(self, lines: int = 15) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def signal(self, number: int) -> None:
        """Send a signal; nothing happens when the program has ended."""
        if self.returncode is None:
            self._process.send_signal(number)

    async def wait(self, within: float) -> int:
        """Return its exit code once it has ended. Raises TimeoutError after `within` seconds."""
        return await asyncio.wait_for(self._process.wait(), within)

    async def stop(self, grace: float = 10.0) -> int:
        """Ask it to end (SIGTERM), insist (SIGKILL) after `grace` seconds, and return its exit code."""
        self.signal(signal.SIGTERM)
        try:
            return await self.wait(grace)
        except TimeoutError:
            return await self.kill()

    async def kill(self) -> int:
        """End it at once (SIGKILL) and return its exit code once it is gone."""
        self.signal(signal.SIGKILL)
        return await self._process.wait()

    async def wait_for_file(self, path: Path, within: float = 15.0) -> str:
        """Return the text of `path` once the program has written it.

        Raises ProcessEndedError when the program ends first, TimeoutError after `within` seconds.
        """

        async def written() -> str | None:
            if self.returncode is not None:
                raise ProcessEndedError(f"{self.name} ended with code {self.returncode}:\n{self.tail()}")
            return _read(path)

        return await until(written, within=within, what=f"{self.name} writes {path.name}")


def our_environment() -> dict[str, str]:
    """So that `python -m` finds this very package, installed or not, and a log is written as it happens."""
    parent = str(Path(xds_server.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [parent, os.environ.get("PYTHONPATH", "")]))
    return {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def _read(path: Path) -> str | None:
    """The text of `path`, None while it is not there."""
    return path.read_text() if path.exists() else None
