"""What reading a cluster costs: the first reading, memory, and the way of an EndpointSlice's change to an ACK.

Against a real API server (where `KUBEBUILDER_ASSETS` says), and beside a naive reader of the same cluster.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from bench.kube_world import NAMESPACE, World
from bench.trial import LoadError
from tests.conformance.client import Stream, accept, connect
from tests.conformance.wire import Variant, node_of
from tests.support.kube import Kube, missing
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.processes import our_environment

SIZES = ((1_000, 200), (10_000, 2_000))
"""Slices and gateways."""

RATE = 100.0
"""Changes a second of other slices, where it is busy."""

LIMIT = 60.0
"""Seconds that a change is waited for. A reader that has not brought it out then has fallen behind, and is told so."""

_CLUSTER = f"{NAMESPACE}/service-0/80"
_CALM, _FEW = 5.0, 15
"""It is at rest when it made so few requests in so many seconds; its Lease alone takes some."""

Move = Callable[[str], Awaitable[None]]
"""Moves the slice that is watched, and waits until that has arrived."""


class Missed(msgspec.Struct):
    """Changes that a reader did not bring out: so many of so many, within so many seconds each."""

    missed: int
    changes: int
    within_s: float


class Followed(msgspec.Struct):
    """One reader of a cluster of one size. Times: from when it has started until everything is read and made; medians of changes.

    `calls` are its requests to the API server for each change that was measured while it was idle, with the status that
    it writes. `busy_missed` are the changes that did not arrive in time while the cluster was busy: `busy_ms` is of the
    others then. A figure that was not measured is None.
    """

    reader: str
    slices: int
    gateways: int
    synced_s: float
    memory_mib: float
    idle_ms: float
    busy_ms: float | None
    calls: float | None = None
    busy_missed: Missed | None = None


class Times(NamedTuple):
    """The median in ms, None where no change arrived; and what was missed."""

    median_ms: float | None
    missed: Missed | None


def measure(sizes: Sequence[tuple[int, int]] = SIZES, changes: int = 20, limit: float = LIMIT) -> list[Followed]:
    """Both readers at each size; nothing where there is no API server to be had.

    Raises:
        LoadError: a reader ends, or needs more than `limit` s for a change where nothing else changes.
    """
    if why := missing():
        print(f"kubernetes: not measured: {why}", file=sys.stderr)
        return []
    return [found for size in sizes for found in asyncio.run(_measure(*size, changes, limit))]


async def _measure(slices: int, gateways: int, changes: int, limit: float) -> list[Followed]:
    with tempfile.TemporaryDirectory(prefix="bench-kube-") as folder:
        kube = Kube(Path(folder) / "kube")
        try:
            await asyncio.to_thread(kube.start)
            world = World(kube, slices, gateways)
            await asyncio.to_thread(world.make)
            return [await _tidegate(world, Path(folder), changes, limit), await _naive(world, changes, limit)]
        finally:
            await asyncio.to_thread(kube.stop)


async def _tidegate(world: World, folder: Path, changes: int, limit: float) -> Followed:
    entry = {"kind": "kubernetes", "kubeconfig": str(world.kube.kubeconfig), "namespaces": [NAMESPACE]}
    plane = ControlPlane(folder / "tidegate", settings={"sources": [entry], "log": {"level": "warning"}})
    async with AsyncExitStack() as stack:
        stack.push_async_callback(plane.stop)
        await plane.start(ready=False, within=60)
        began = time.monotonic()
        await until(plane.ready, within=300, what="tidegate is ready")
        synced = time.monotonic() - began
        memory = _memory(plane.child.pid)
        stream = Stream(
            await stack.enter_async_context(connect(plane.xds)),
            Variant.DELTA,
            node_of("bench", group="g0"),
            answer=accept,
        )
        await stack.enter_async_context(stream)
        for key, names in (("cds", ()), ("eds", (_CLUSTER,)), ("lds", ())):
            stream.ask(key, *names)
            await stream.next(key)
        await _at_rest(plane)

        async def move(address: str) -> None:
            stream.skip()
            await asyncio.to_thread(world.move, 0, address)
            await stream.next("eds", within=limit)

        before = await _calls(plane)
        idle = await _idle(move, changes, limit)
        await _at_rest(plane)
        calls = (await _calls(plane) - before) / changes
        busy = await _busy(world, move, changes, 0.1, limit)
    return Followed("tidegate", world.slices, world.gateways, synced, memory, idle, busy.median_ms, calls, busy.missed)


async def _naive(world: World, changes: int, limit: float) -> Followed:
    """It is slow, so it is asked less often."""
    command = (sys.executable, "-m", "bench.kube_naive", str(world.kube.kubeconfig))
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**our_environment()}, limit=1 << 20
    )
    try:
        assert process.stdout is not None
        lines = process.stdout

        async def made(address: str) -> None:
            while address not in (line := (await lines.readline()).decode()):
                if not line:
                    raise LoadError("the naive reader has ended")

        async def move(address: str) -> None:
            await asyncio.to_thread(world.move, 0, address)
            await made(f'"{address}"')

        await made("started")
        began = time.monotonic()
        await made("address")
        synced, memory = time.monotonic() - began, _memory(process.pid)
        few = max(changes // 5, 2)
        idle = await _idle(move, few, limit)
        busy = await _busy(world, move, few, 0.5, limit)
    finally:
        process.kill()
        await process.wait()
    return Followed("naive", world.slices, world.gateways, synced, memory, idle, busy.median_ms, None, busy.missed)


async def _idle(move: Move, changes: int, limit: float) -> float:
    """The median of so many moves, in ms, while nothing else changes."""
    found = await times(move, changes, 0.5, limit)
    if found.median_ms is None or found.missed is not None:
        raise LoadError(f"no change within {limit:g} s, though nothing else changes")
    return found.median_ms


async def _busy(world: World, move: Move, changes: int, pause: float, limit: float) -> Times:
    """The same while other slices change."""
    with world.churning(RATE):
        await asyncio.sleep(2)
        return await times(move, changes, pause, limit)


async def times(move: Move, changes: int, pause: float, limit: float) -> Times:
    """So many moves, each from before the request that changes the slice, for `limit` s at most."""
    took = []
    for address in itertools.islice(_ADDRESSES, changes):
        began = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await move(address)
            took.append(time.monotonic() - began)
        await asyncio.sleep(pause)
    missed = Missed(changes - len(took), changes, limit) if len(took) < changes else None
    return Times(median(took) * 1e3 if took else None, missed)


def _addresses() -> Iterator[str]:
    for number in itertools.count():
        yield f"10.8.{number // 250}.{number % 250 + 1}"


_ADDRESSES = _addresses()


async def _calls(plane: ControlPlane) -> float:
    """How many requests it has made of the API server."""
    _, text = await plane.request("/metrics")
    return sum(float(each) for each in re.findall(r"^rest_client_requests_total\{.*\} (\S+)$", text, re.MULTILINE))


async def _at_rest(plane: ControlPlane, limit: float = 180.0) -> None:
    """Wait until it has asked the API server for next to nothing for a while: the first statuses are written then."""
    deadline, before = time.monotonic() + limit, await _calls(plane)
    while time.monotonic() < deadline:
        await asyncio.sleep(_CALM)
        now = await _calls(plane)
        if now - before <= _FEW:
            return
        before = now


def _memory(pid: int) -> float:
    """The resident memory of a process, MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
