"""A broker in a process of its own: ended, killed, frozen and thawed as the tests ask."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path


class BrokerProcess:
    """One process, and what is done to it."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        """Start it; what it prints goes to `log`."""
        self._log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    @property
    def printed(self) -> str:
        """All that it has printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def freeze(self) -> None:
        """Connections stay open, new ones are taken by the kernel, and nothing is answered."""
        os.kill(self._process.pid, signal.SIGSTOP)
        # On a busy machine a thread goes on for a moment.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        """Go on."""
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End as a crash would."""
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> None:
        """End as it is asked to; a frozen one too."""
        if self.running:
            self.thaw()
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
