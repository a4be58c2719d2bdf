r"""The load generator in Python, for machines without Go: many streams on `grpc.aio`, raw bytes, a report as JSON.

It takes those flags of the Go generator that are used here and writes the same report. It costs more per stream, so
it is for some hundred streams.

    python -m bench.load --target 127.0.0.1:18080 --streams 100 --mode delta --server-pid PID --out report.json \
        --trigger 'http://127.0.0.1:18081/publish?mode=one' --rounds 5
"""

from __future__ import annotations

import argparse
import asyncio
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import grpc
import grpc.aio
import msgspec
import uvloop

from bench.processes import cpu_seconds, quiesce, resident_mib
from bench.report import Change, Opened, Report, Usage, Version, percentiles
from bench.subscriber import Phrasebook, Received, Subscriber, make_node
from xds_server.wire.types import ENDPOINT, key_of

_METHODS = {"sotw": "StreamAggregatedResources", "delta": "DeltaAggregatedResources"}
_SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
# A connection for each stream, as Envoy has it.
_OPTIONS = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))


class Load:
    """All streams, and what they have received so far."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._book = Phrasebook(args.mode)
        self._method = _SERVICE + _METHODS[args.mode]
        self._arrivals: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._reached: dict[int, float] = {}
        self._full: set[int] = set()
        self._progress = asyncio.Event()
        self._errors: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> Report:
        """Open the streams, trigger or watch, and report."""
        args = self._args
        report = Report(await self._open())
        if args.trigger:
            changes = [await self._change() for _ in range(args.warmup + args.rounds)]
            report.changes = changes[args.warmup :]
        elif args.watch:
            await asyncio.sleep(args.watch)
            report.versions = self._versions()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        report.errors, report.last_error = len(self._errors), self._errors[-1] if self._errors else ""
        return report

    async def _open(self) -> Opened:
        streams, pid = self._args.streams, self._args.server_pid
        before, started = cpu_seconds(pid), time.monotonic()
        self._tasks = [asyncio.create_task(self._stream(number)) for number in range(streams)]
        timed_out = not await self._until(lambda: len(self._full) == streams)
        took = (time.monotonic() - started) * 1000
        return Opened(streams, len(self._full), took, await self._usage(before), timed_out)

    async def _change(self) -> Change:
        before, started = cpu_seconds(self._args.server_pid), time.monotonic()
        self._reached.clear()
        request = urllib.request.Request(self._args.trigger, method="POST")  # noqa: S310
        await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())  # noqa: S310
        timed_out = not await self._until(lambda: len(self._reached) == self._args.streams)
        last = (max(self._reached.values(), default=started) - started) * 1000
        return Change(len(self._reached), last, await self._usage(before), timed_out)

    async def _usage(self, before: float) -> Usage:
        pid = self._args.server_pid
        await asyncio.to_thread(quiesce, pid)
        return Usage(cpu_seconds(pid) - before, resident_mib(pid))

    async def _until(self, holds: Callable[[], bool]) -> bool:
        """Wait until something holds; False when it takes longer than --timeout."""
        try:
            async with asyncio.timeout(self._args.timeout):
                while not holds():
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            return False
        return True

    async def _stream(self, number: int) -> None:
        node = make_node(number, self._args.node_cluster, self._args.node_extensions)
        subscriber = Subscriber(self._book, node, node_always=self._args.node_always)
        async with grpc.aio.insecure_channel(self._args.target, options=_OPTIONS) as channel:
            call: grpc.aio.StreamStreamCall[bytes, bytes] = channel.stream_stream(self._method)()
            try:
                for request in subscriber.start():
                    await call.write(request)
                while isinstance(raw := await call.read(), bytes):
                    said, requests = subscriber.receive(raw)
                    self._note(number, said, full=subscriber.full)
                    for request in requests:
                        await call.write(request)
                self._errors.append(f"stream {number} ended: {await call.code()}: {await call.details()}")
            except grpc.aio.AioRpcError as error:
                self._errors.append(f"stream {number}: {error.code()}: {error.details()}")

    def _note(self, number: int, said: Received, *, full: bool) -> None:
        self._arrivals[said.type_url, said.version].append(time.time())
        if said.type_url == ENDPOINT:
            self._reached.setdefault(number, time.monotonic())
        if full:
            self._full.add(number)
        self._progress.set()

    def _versions(self) -> list[Version]:
        return [_version(url, version, times) for (url, version), times in self._arrivals.items()]


def _version(url: str, version: str, times: list[float]) -> Version:
    """What is told of a version; one that ends in `@` and POSIX nanoseconds also with the time since then."""
    _, _, made = version.partition("@")
    since = percentiles([(at - int(made) / 1e9) * 1000 for at in times]) if made else None
    return Version(key_of(url), version, len(times), (max(times) - min(times)) * 1000, since)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:18080", help="the server, host:port")
    parser.add_argument("--server-pid", type=int, required=True, help="its process id")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--mode", choices=sorted(_METHODS), default="sotw")
    parser.add_argument("--node-cluster", default="bench")
    parser.add_argument("--node-extensions", type=int, default=0, help="extensions listed in the node")
    parser.add_argument("--node-always", action="store_true", help="send the node with every request")
    parser.add_argument("--trigger", default="", help="URL to POST to for each change")
    parser.add_argument("--rounds", type=int, default=5, help="changes to trigger")
    parser.add_argument("--warmup", type=int, default=1, help="changes before those, not reported")
    parser.add_argument("--watch", type=_seconds, default=0.0, help="how long to watch without --trigger, as 10s")
    parser.add_argument("--timeout", type=_seconds, default=60.0, help="limit of each change, and of connecting")
    parser.add_argument("--out", type=Path, required=True, help="file for the report")
    return parser.parse_args()


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def main() -> None:
    """Read the arguments, run, and write the report."""
    args = _arguments()

    async def run() -> Report:
        return await Load(args).run()

    args.out.write_bytes(msgspec.json.encode(uvloop.run(run())))


if __name__ == "__main__":
    main()
