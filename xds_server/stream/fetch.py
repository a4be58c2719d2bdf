"""The unary form of a discovery service: one request, the newest state, no stream."""

from __future__ import annotations

import time
from dataclasses import replace

from xds_server.stream.admission import admit
from xds_server.stream.auth import Identity
from xds_server.stream.context import StreamContext
from xds_server.stream.session import Session, Variant
from xds_server.wire import response
from xds_server.wire.request import RequestError


class NotSyncedError(RuntimeError):
    """Nothing can be served yet, because not every source has handed over all that it has."""


def fetch(shared: StreamContext, caller: Identity, type_url: str, raw: bytes) -> bytes:
    """Answer a DiscoveryRequest with a DiscoveryResponse of all that it asks for.

    Raises:
        DeniedError: its node is of a group that the caller may not be given.
        RequestError: the request is malformed, or has no node, or another type.
        NotSyncedError: the sources are not synced, and what was served before is not known, or not in full.
    """
    request, node = shared.parser.sotw(raw)
    if not node:
        msg = "a fetch request must have a node with an id"
        raise RequestError(msg)
    if request.type_url not in ("", type_url):
        msg = f"type_url is {request.type_url}, but this service serves {type_url}"
        raise RequestError(msg)
    group = shared.groups.get(admit(node, shared.grouping, caller).group)
    current = group.current if group is not None else None
    if not shared.groups.synced and (current is None or current.typeset(type_url).unknown):
        msg = "not every source is synced yet"
        raise NotSyncedError(msg)
    offered = group.views.offer() if group is not None else None
    if offered is None:
        return response.sotw(type_url, "", (), {}).message
    session = Session(Variant.SOTW, waits=shared.waits)
    now = time.monotonic()
    session.publish(offered, now)
    due = session.receive(replace(request, type_url=type_url, version_info="", nonce="", error=None), now)
    if due:
        return due[0].message
    return response.sotw(type_url, offered.typeset(type_url).version, (), {}).message
