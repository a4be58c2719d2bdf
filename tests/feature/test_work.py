"""A guard that counts work, not time: what a change costs does not grow with the number of streams."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.conformance.client import Stream
from tests.conformance.documents import service
from tests.conformance.follow import start
from tests.conformance.wire import BOTH, Variant
from tests.feature.inprocess import Inside, inside
from xds_server.wire import request
from xds_server.wire.response import Response

SERVICES, CHANGES = 20, 5


class Work:
    """Counts the responses that are built, their bytes, and the requests that are parsed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: Counter[str] = Counter()
        build = Response.__init__

        def counted(response: Response, *args: object, **named: object) -> None:
            build(response, *args, **named)  # type: ignore[arg-type]
            self.done["responses"] += 1
            self.done["bytes"] += len(response.message) - len(response.nonce)

        decode = request._decode

        def parsed(*args: object) -> None:
            decode(*args)  # type: ignore[arg-type]
            self.done["parsed"] += 1

        monkeypatch.setattr(Response, "__init__", counted)
        monkeypatch.setattr(request, "_decode", parsed)


async def _change(server: Inside, streams: list[Stream], mark: int) -> None:
    """Change the endpoints of one service, and wait until every stream has accepted them."""
    server.publish(service("service-0", endpoints=(mark,)), file="service-0")
    await asyncio.gather(*(stream.sent("eds", "service-0") for stream in streams))
    await server.until(server.in_sync, "all ACKs")


async def _work_of(variant: Variant, count: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    async with inside() as server, AsyncExitStack() as stack:
        for number in range(SERVICES):
            server.publish(service(f"service-{number}"), file=f"service-{number}")
        clients = server.clients(stack)
        streams = [await clients.stream(variant) for _ in range(count)]
        for stream in streams:
            start(stream)
        await asyncio.gather(*(stream.until(_has_all(stream)) for stream in streams))
        await _change(server, streams, 100)
        with monkeypatch.context() as patched:
            work = Work(patched)
            for number in range(CHANGES):
                await _change(server, streams, 101 + number)
        return work.done


def _has_all(stream: Stream) -> Callable[[], bool]:
    return lambda: len(stream.names_of("eds")) == SERVICES


@pytest.mark.parametrize("variant", BOTH)
async def test_a_change_costs_the_same_for_10_and_50_streams(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = [await _work_of(variant, count, monkeypatch) for count in (10, 50)]
    assert few == many
    assert few["responses"] == CHANGES
    assert few["parsed"] == CHANGES, "the ACKs of a fleet are the same bytes"
    assert few["bytes"] < CHANGES * 400, "one assignment, not all of them"
