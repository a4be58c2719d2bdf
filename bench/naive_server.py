"""What Tidegate is compared with where there is no Go: a server as one writes it first, with all work done per stream.

Each stream keeps a dict of the versions that it was sent. At each change it looks at every resource, makes a
protobuf response of its own and serializes it. `grpc.aio` is the transport, as it is Tidegate's.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import grpc.aio
import uvloop
from envoy.service.discovery.v3 import ads_pb2_grpc, discovery_pb2
from google.protobuf.message import Message

from bench.publishing import add_arguments, serve_publish
from bench.world import World
from xds_server.translate.messages import parse
from xds_server.wire.types import ENDPOINT, ROUTE

_BY_NAME = {ENDPOINT, ROUTE}
_STORM = 100_000
_OPTIONS = (
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.server.max_pending_requests", _STORM),
    ("grpc.server.max_pending_requests_hard_limit", _STORM),
)

Entry = tuple[Message, str]
"""A message and its version."""


class Stream:
    """One stream: what it asked for by type, and the versions of what it was sent."""

    def __init__(self, types: dict[str, dict[str, Entry]], *, delta: bool) -> None:
        self._types = types
        self._delta = delta
        self._asked: dict[str, set[str]] = {}
        self._sent: dict[str, dict[str, str]] = {}
        self._nonce = 0

    def take(self, request: Any) -> None:
        """Note what a request asks for."""
        names = request.resource_names_subscribe if self._delta else request.resource_names
        self._asked.setdefault(request.type_url, set()).update(names)

    def due(self) -> list[Any]:
        """A response for each type of which something differs from what this stream was sent."""
        responses = (self._respond(url, asked) for url, asked in self._asked.items())
        return [response for response in responses if response is not None]

    def _respond(self, url: str, asked: set[str]) -> Any:
        sent, entries = self._sent.setdefault(url, {}), self._types[url]
        wanted = {name: entry for name, entry in entries.items() if url not in _BY_NAME or name in asked}
        changed = {name: entry for name, entry in wanted.items() if sent.get(name) != entry[1]}
        if not changed:
            return None
        sent.update((name, version) for name, (_, version) in changed.items())
        self._nonce += 1
        return self._delta_response(url, changed) if self._delta else self._sotw_response(url, wanted)

    def _delta_response(self, url: str, entries: dict[str, Entry]) -> Any:
        response = discovery_pb2.DeltaDiscoveryResponse(type_url=url, nonce=str(self._nonce))
        for name, (message, version) in entries.items():
            resource = response.resources.add(name=name, version=version)
            resource.resource.Pack(message)
        return response

    def _sotw_response(self, url: str, entries: dict[str, Entry]) -> Any:
        version = str(self._nonce)
        response = discovery_pb2.DiscoveryResponse(type_url=url, version_info=version, nonce=version)
        for message, _ in entries.values():
            response.resources.add().Pack(message)
        return response


class NaiveServer(ads_pb2_grpc.AggregatedDiscoveryServiceServicer):  # type: ignore[misc]
    """The two ADS methods over a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seq = 0
        self._types: dict[str, dict[str, Entry]] = {}
        self._changed: set[asyncio.Event] = set()
        self.publish("all", 0)

    def publish(self, mode: str, count: int) -> dict[str, object]:
        """Change the world, and wake every stream."""
        self._seq += 1
        for url, resources in self._world.change(mode, count).items():
            entries = self._types.setdefault(url, {})
            for resource in resources:
                message = parse(url, resource.body)
                assert message is not None
                entries[resource.name] = (message, resource.version)
        for event in self._changed:
            event.set()
        return {"seq": self._seq}

    async def StreamAggregatedResources(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802
        """ADS, state of the world."""
        await self._serve(Stream(self._types, delta=False), requests, context.write)

    async def DeltaAggregatedResources(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: N802
        """ADS, incremental."""
        await self._serve(Stream(self._types, delta=True), requests, context.write)

    async def _serve(
        self, stream: Stream, requests: AsyncIterator[Any], write: Callable[[Any], Coroutine[Any, Any, None]]
    ) -> None:
        changed = asyncio.Event()
        self._changed.add(changed)
        writer = asyncio.create_task(_write(stream, changed, write))
        try:
            async for request in requests:
                stream.take(request)
                changed.set()
        finally:
            self._changed.discard(changed)
            writer.cancel()


async def _write(stream: Stream, changed: asyncio.Event, write: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    while True:
        await changed.wait()
        changed.clear()
        for response in stream.due():
            await write(response)


async def serve(args: argparse.Namespace) -> None:
    """Serve until cancelled."""
    naive = NaiveServer(World(args.clusters, args.endpoints, args.routes))
    server = grpc.aio.server(options=_OPTIONS)
    ads_pb2_grpc.add_AggregatedDiscoveryServiceServicer_to_server(naive, server)
    server.add_insecure_port(args.listen)
    await server.start()
    await serve_publish(args.http, naive.publish)
    await asyncio.Event().wait()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
