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
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from statistics import median

import msgspec

from bench.kube_world import NAMESPACE, World
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

_CLUSTER = f"{NAMESPACE}/service-0/80"
_CALM, _FEW = 5.0, 15
"""It is at rest when it made so few requests in so many seconds; its Lease alone takes some."""

Move = Callable[[str], Awaitable[None]]
"""Moves the slice that is watched, and waits until that has arrived."""


class Followed(msgspec.Struct):
    """One reader of a cluster of one size. Times: from when it has started until everything is read and made; medians of changes.

    `calls` are its requests to the API server for each change that was measured while it was idle, with the status that
    it writes. A figure that was not measured is None.
    """

    reader: str
    slices: int
    gateways: int
    synced_s: float
    memory_mib: float
    idle_ms: float
    busy_ms: float | None
    calls: float | None = None


def measure(sizes: Sequence[tuple[int, int]] = SIZES, changes: int = 20) -> list[Followed]:
    """Both readers at each size; nothing where there is no API server to be had."""
    if why := missing():
        print(f"kubernetes: not measured: {why}", file=sys.stderr)
        return []
    return [found for size in sizes for found in asyncio.run(_measure(*size, changes))]


async def _measure(slices: int, gateways: int, changes: int) -> list[Followed]:
    with tempfile.TemporaryDirectory(prefix="bench-kube-") as folder:
        kube = Kube(Path(folder) / "kube")
        try:
            await asyncio.to_thread(kube.start)
            world = World(kube, slices, gateways)
            await asyncio.to_thread(world.make)
            return [await _tidegate(world, Path(folder), changes), await _naive(world, changes)]
        finally:
            await asyncio.to_thread(kube.stop)


async def _tidegate(world: World, folder: Path, changes: int) -> Followed:
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
            await stream.next("eds", within=60)

        before = await _calls(plane)
        idle = await _times(move, changes, 0.5)
        await _at_rest(plane)
        calls = (await _calls(plane) - before) / changes
        with world.churning(RATE):
            await asyncio.sleep(2)
            busy = await _times(move, changes, 0.1)
    return Followed("tidegate", world.slices, world.gateways, synced, memory, idle, busy, calls)


async def _naive(world: World, changes: int) -> Followed:
    """It is slow, so it is asked less often, and in the bigger cluster only while nothing else happens."""
    command = (sys.executable, "-m", "bench.kube_naive", str(world.kube.kubeconfig))
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**our_environment()}, limit=1 << 20
    )
    try:
        assert process.stdout is not None
        lines = process.stdout

        async def made(address: str) -> None:
            while address not in (await lines.readline()).decode():
                assert process.returncode is None

        async def move(address: str) -> None:
            await asyncio.to_thread(world.move, 0, address)
            await made(f'"{address}"')

        await made("started")
        began = time.monotonic()
        await made("address")
        synced, memory = time.monotonic() - began, _memory(process.pid)
        few = max(changes // 5, 2)
        idle = await _times(move, few, 0.5)
        is_small = world.slices <= SIZES[0][0]
        with world.churning(RATE) if is_small else nullcontext():
            busy = await _times(move, few, 0.5) if is_small else None
    finally:
        process.kill()
        await process.wait()
    return Followed("naive", world.slices, world.gateways, synced, memory, idle, busy)


async def _times(move: Move, changes: int, pause: float) -> float:
    """The median of so many moves, in ms, from before the request that changes the slice."""
    took = []
    for address in itertools.islice(_ADDRESSES, changes):
        began = time.monotonic()
        await move(address)
        took.append(time.monotonic() - began)
        await asyncio.sleep(pause)
    return median(took) * 1e3


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
