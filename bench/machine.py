"""The machine under the benchmarks: which cores to use, waiting until it is calm, and what it is.

Linux only: everything is read from /proc.
"""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CALM = 0.4
"""Busy cores, over a second, under which the machine counts as calm."""

_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cores:
    """The core of the server and that of the generator; None on a machine of one core, where nothing is pinned."""

    server: int | None
    generator: int | None


def choose_cores() -> Cores:
    """A core each for server and generator: the first two of those that this process may use."""
    free = sorted(os.sched_getaffinity(0))
    return Cores(free[0], free[1]) if len(free) > 1 else Cores(None, None)


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Have what is started inside run on that core: a child takes over its parent's cores."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def busy_cores(seconds: float = 1.0) -> float:
    """How many cores were busy on average over the next `seconds`."""
    before = _busy_ticks()
    time.sleep(seconds)
    return (_busy_ticks() - before) / _PER_SECOND / seconds


def wait_calm(limit: float) -> bool:
    """Wait until the machine is calm, `limit` seconds at most; whether it is."""
    end = time.monotonic() + limit
    while busy_cores() >= CALM:
        if time.monotonic() >= end:
            return False
    return True


class Neighbours:
    """Looks at what others do on the machine from its making on: all that is busy but this process and its children."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._before = self._others()

    def are_calm(self) -> bool:
        """Whether they kept fewer than `CALM` cores busy, on average. Children count once they have ended."""
        took = max(time.monotonic() - self._started, 1 / _PER_SECOND)
        return (self._others() - self._before) / took < CALM

    def _others(self) -> float:
        own = os.times()
        return _busy_ticks() / _PER_SECOND - own.user - own.system - own.children_user - own.children_system


def raise_file_limit() -> None:
    """Allow as many open files as may be allowed; servers and generators need one per stream."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def describe() -> str:
    """The machine in a few words: processor, cores, memory, kernel, Python."""
    cores = len(os.sched_getaffinity(0))
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{_processor()}, {cores} cores, {gib:.0f} GiB, Linux {platform.release()}, {python}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _busy_ticks() -> int:
    """Ticks spent on anything but idling and waiting for disks, all cores together (proc(5), /proc/stat)."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = _first_line()[:8]
    return user + nice + system + irq + softirq + steal


def _first_line() -> list[int]:
    with Path("/proc/stat").open() as lines:
        return [int(word) for word in lines.readline().split()[1:]]
