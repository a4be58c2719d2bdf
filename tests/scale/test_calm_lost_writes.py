"""Calm: a client that leaves in the middle of its first answer, just as the server stops, makes no noise in the log."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import grpc.aio
import pytest

from tests.conformance.documents import marked
from tests.conformance.wire import node_of, sotw_request
from tests.feature.inprocess import inside
from xds_server.stream.auth import CALLER, Identity
from xds_server.stream.session import Variant


class Leaving:
    """The context of a call whose client leaves while the first answer is written; then gRPC can send nothing."""

    def __init__(self) -> None:
        self.writing = asyncio.Event()
        self.leaving = asyncio.Event()
        self.aborts = 0
        self._requests = [sotw_request("cds", node=node_of("n")).SerializeToString()]

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    async def read(self) -> Any:
        if not self._requests:
            await self.leaving.wait()
            return grpc.aio.EOF
        return self._requests.pop()

    async def write(self, message: bytes) -> None:
        self.writing.set()
        await self.leaving.wait()
        raise grpc.aio.InternalError("the batch of operations has failed")

    async def abort(self, code: grpc.StatusCode, details: str = "") -> None:
        self.aborts += 1
        raise grpc.aio.InternalError("too many operations")


@pytest.mark.parametrize("stopped", ["before", "never"])
async def test_a_lost_write_is_a_cancelled_call(stopped: str, caplog: pytest.LogCaptureFixture) -> None:
    async with inside() as server:
        server.publish([marked("cds", "a", 1)])
        services, context = server.server._services, Leaving()
        CALLER.set(Identity(""))
        handler: Any = services._stream(Variant.SOTW, None)
        call = asyncio.ensure_future(handler(None, context))
        await context.writing.wait()
        if stopped == "before":
            services.stop()
        context.leaving.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 5)
        assert not context.aborts
        assert not server.streams()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
