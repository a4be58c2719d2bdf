"""Child processes of a benchmark: started on a core, looked at through /proc, and ended."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench.machine import pinned
from xds_server.process import listen_directly

_START = 60.0
_STOP = 10.0


class StartError(RuntimeError):
    """A process ended, or did not listen in time."""


def cpu_seconds(pid: int) -> float:
    """The time that all threads of a process have spent on a core (proc(5), schedstat: nanoseconds)."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(path.read_text().split()[0])
        except OSError:  # The thread has ended.
            continue
    return total / 1e9


def resident_mib(pid: int) -> float:
    """The resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def quiesce(pid: int, limit: float = 30.0) -> None:
    """Wait until a process is at rest: less than 4 ms on a core in 100 ms, twice in a row."""
    end, calm, last = time.monotonic() + limit, 0, cpu_seconds(pid)
    while calm < 2 and time.monotonic() < end:  # noqa: PLR2004
        time.sleep(0.1)
        now = cpu_seconds(pid)
        calm = calm + 1 if now - last < 0.004 else 0  # noqa: PLR2004
        last = now


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(argv: Sequence[str], port: int, core: int | None) -> Iterator[int]:
    """Run a server on a core, from when it listens on `port`; its process id.

    Raises:
        StartError: it does not come up.
    """
    with tempfile.TemporaryFile() as words:
        with pinned(core):
            process = subprocess.Popen(argv, env=_environment(), stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        try:
            _wait_for(process, port, words)
            yield process.pid
        finally:
            _end(process)


def _environment() -> dict[str, str]:
    """Every server in Python gets the transport of the product."""
    environment = dict(os.environ)
    listen_directly(environment)
    return environment


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, words: IO[bytes]) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end:
        if process.poll() is not None:
            words.seek(0)
            said = words.read().decode(errors="replace")[-2000:]
            raise StartError(f"{process.args!r} ended with {process.returncode}:\n{said}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise StartError(f"{process.args!r} does not listen on port {port} after {_START:.0f} s")
