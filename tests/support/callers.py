"""Clients that prove who they are, by a certificate or by a token, each on a connection of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from envoy.config.core.v3 import base_pb2

from tests.conformance.client import OPTIONS, Stream
from tests.conformance.wire import Variant
from tests.support.certificates import Authority, Pair

NAME = "tidegate"
"""The name in the server's certificate."""


@dataclass(frozen=True)
class Caller:
    """What a client has to show: a certificate, a token, both or nothing. `trusts` None is plain text."""

    target: str
    trusts: Authority | None = None
    pair: Pair | None = None
    token: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=())

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of its calls."""
        return (*((("authorization", f"Bearer {self.token}"),) if self.token else ()), *self.headers)

    async def channel(self, stack: AsyncExitStack) -> grpc.aio.Channel:
        """A connection that ends with `stack`."""
        if self.trusts is None:
            return await stack.enter_async_context(grpc.aio.insecure_channel(self.target, options=OPTIONS))
        key, chain = (self.pair.key.encode(), self.pair.certificate.encode()) if self.pair else (None, None)
        credentials = grpc.ssl_channel_credentials(self.trusts.certificate.encode(), key, chain)
        options = (*OPTIONS, ("grpc.ssl_target_name_override", NAME))
        return await stack.enter_async_context(grpc.aio.secure_channel(self.target, credentials, options=options))

    async def stream(self, stack: AsyncExitStack, variant: Variant, node: base_pb2.Node | None, **more: Any) -> Stream:
        """A stream of a node; `more` goes to `Stream`."""
        channel = await self.channel(stack)
        return await stack.enter_async_context(Stream(channel, variant, node, metadata=self.metadata, **more))

    async def call(self, stack: AsyncExitStack, method: str, request: bytes) -> tuple[grpc.StatusCode, bytes | str]:
        """One call: its status, and the answer or what was said instead."""
        channel = await self.channel(stack)
        call: Any = channel.unary_unary(method)
        try:
            return grpc.StatusCode.OK, await call(request, metadata=self.metadata)
        except grpc.aio.AioRpcError as error:
            return error.code(), str(error.details())


def tls_settings(folder: Any, *, clients: bool) -> Mapping[str, Any]:
    """The section `tls` for the files that `Pair.write` makes in `folder`, and `ca.crt`."""
    files = {"cert": f"{folder}/tls.crt", "key": f"{folder}/tls.key"}
    return {**files, "client_ca": f"{folder}/ca.crt"} if clients else files
