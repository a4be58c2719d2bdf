"""The Client Status Discovery Service: what each node was sent, has accepted and refuses, for gRPC's and Istio's tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import grpc
import grpc.aio

from xds_server.status.config import Row, TypeView, newest, rows
from xds_server.status.node import LiveNode
from xds_server.stream.auth import CALLER
from xds_server.stream.context import StreamContext
from xds_server.translate.redact import redacted
from xds_server.wire.csds import CSDS, FETCH, STREAM, Client, Entry, Query, query, response
from xds_server.wire.request import RequestError
from xds_server.wire.resource import Resource

Context = grpc.aio.ServicerContext[Any, Any]
Asked = Sequence[tuple[Client, Sequence[TypeView]]]

MOST_ROWS = 500_000
"""Resources in one answer, those of all nodes together; who asks for more is told to name nodes."""


class TooManyError(ValueError):
    """An answer would have more than `MOST_ROWS`."""


class ClientStatus:
    """The service over one stream context. A caller is shown the nodes of groups that it may be given."""

    def __init__(self, shared: StreamContext) -> None:
        self._shared = shared

    def handler(self) -> grpc.GenericRpcHandler:
        """Its generic handler: requests and responses stay bytes."""
        return grpc.method_handlers_generic_handler(
            CSDS,
            {
                FETCH: grpc.unary_unary_rpc_method_handler(self._fetch),
                STREAM: grpc.stream_stream_rpc_method_handler(self._stream),
            },
        )

    async def _fetch(self, raw: bytes, context: Context) -> bytes:
        try:
            asked = query(raw)
            found = self._asked(asked)
        except RequestError as error:
            self._shared.meter.rejected("request")
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except TooManyError as error:
            self._shared.meter.rejected("limit")
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        return await asyncio.to_thread(_answer, found, with_contents=not asked.without_contents)

    async def _stream(self, requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        async for raw in requests:
            yield await self._fetch(raw, context)

    def _asked(self, asked: Query) -> Asked:
        """The clients that are asked for, each with what its streams know now.

        Raises:
            TooManyError: it is too much for one answer.
        """
        caller = CALLER.get()
        found: dict[tuple[str, str], list[LiveNode]] = {}
        for node in self._shared.tracker.live():
            if caller.may_have(node.group) and asked.wants(node.client()):
                found.setdefault((node.group, node.id), []).append(node)
        views = [(nodes[-1].client(), newest(each.config() for each in nodes)) for nodes in found.values()]
        if (
            sum(len(view.wanted) if view.wildcard else len(view.names) for _, types in views for view in types)
            > MOST_ROWS
        ):
            msg = f"the answer would have more than {MOST_ROWS} resources; name nodes in node_matchers"
            raise TooManyError(msg)
        return views


def _answer(found: Asked, *, with_contents: bool) -> bytes:
    return response((client, _entries(views, with_contents=with_contents)) for client, views in found)


def _entries(views: Sequence[TypeView], *, with_contents: bool) -> Iterator[Entry]:
    for view in views:
        for row in rows(view):
            yield _entry(row, with_contents=with_contents)


def _entry(row: Row, *, with_contents: bool) -> Entry:
    def content(resource: Resource | None) -> tuple[str, bytes] | None:
        return redacted(resource) if resource is not None and with_contents else None

    return Entry(
        row.type_url,
        row.name,
        row.accepted or "",
        row.status.value,
        row.client.value,
        row.updated,
        content(row.has),
        content(row.refused),
        (row.sent or "") if row.said else "",
        row.said.at if row.said else None,
        row.said.message if row.said else "",
    )
