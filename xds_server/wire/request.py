"""Discovery requests: bytes in, small frozen values out, the node cut away and parsed only where it is wanted.

Envoy may send its whole Node (61 KB) with every request, so it is cut off by its length before anything else
is parsed. Since one response with one nonce is shared by many streams, their ACKs are the same bytes too: a
bounded cache makes a fleet's ACK cost one parse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cachetools import LRUCache
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import status_pb2

from xds_server.wire.decode import cut_field

_CACHE_BYTES = 2 * 1024 * 1024
"""Room for what was parsed: the ACKs of a response come within seconds of each other, and then never again."""

_EDGE = 128
_INTERNED = 200_000
"""How many names the sets of names that are remembered may have together."""
_ENTRY_OVERHEAD = 512
_SHOWN = 4000


class RequestError(ValueError):
    """The bytes are not a discovery request."""


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """Why a client refused a response: `google.rpc.Status` as code and text."""

    code: int
    message: str

    def short(self) -> ErrorDetail:
        """The same to keep and to show: the client may have written megabytes."""
        if len(self.message) <= _SHOWN:
            return self
        return ErrorDetail(self.code, f"{self.message[:_SHOWN]}… ({len(self.message)} characters)")


@dataclass(frozen=True, slots=True)
class SotwRequest:
    """A DiscoveryRequest; `node` holds its node's bytes only where the sender put it out of field order."""

    type_url: str
    version_info: str = ""
    names: frozenset[str] = frozenset()
    nonce: str = ""
    error: ErrorDetail | None = None
    node: bytes = b""


@dataclass(frozen=True, slots=True)
class DeltaRequest:
    """A DeltaDiscoveryRequest; `initial_versions` is name → version; `node` as in SotwRequest."""

    type_url: str
    subscribe: frozenset[str] = frozenset()
    unsubscribe: frozenset[str] = frozenset()
    initial_versions: Mapping[str, str] = field(default_factory=dict)
    nonce: str = ""
    error: ErrorDetail | None = None
    node: bytes = b""


Request = SotwRequest | DeltaRequest
R = TypeVar("R", SotwRequest, DeltaRequest)


class RequestParser:
    """Parses requests and remembers what equal bytes meant; one serves all streams of a server."""

    def __init__(self) -> None:
        self._sotw: _Memo[SotwRequest] = _Memo(_parse_sotw, node_field=2)
        self._delta: _Memo[DeltaRequest] = _Memo(_parse_delta, node_field=1)

    def sotw(self, raw: bytes) -> tuple[SotwRequest, bytes]:
        """Parse a DiscoveryRequest; the second value is its node's bytes, empty where it has none.

        Raises:
            RequestError: the bytes are not a DiscoveryRequest.
        """
        return self._sotw.parse(raw)

    def delta(self, raw: bytes) -> tuple[DeltaRequest, bytes]:
        """Parse a DeltaDiscoveryRequest; the second value is its node's bytes, empty where it has none.

        Raises:
            RequestError: the bytes are not a DeltaDiscoveryRequest.
        """
        return self._delta.parse(raw)


class _Memo(Generic[R]):
    """One kind of request: its parser, the number of its node field, and what was parsed before."""

    def __init__(self, parse: Callable[[bytes], R], node_field: int) -> None:
        self._parse: Callable[[bytes], R] = parse
        self._node_field = node_field
        self._known: LRUCache[tuple[int, bytes, bytes], tuple[bytes, R]] = LRUCache(_CACHE_BYTES, _size)

    def parse(self, raw: bytes) -> tuple[R, bytes]:
        node, rest = cut_field(raw, self._node_field)
        # Versions stand before the names and nonces after them. To hash 10,000 names takes ten times as long as to
        # compare them, so they are no part of the key.
        key = (len(rest), rest[:_EDGE], rest[-_EDGE:])
        entry = self._known.get(key)
        if entry is None or entry[0] != rest:
            entry = (rest, self._parse(rest))
            if _size(entry) <= _CACHE_BYTES:
                self._known[key] = entry
        return entry[1], node or entry[1].node


def _size(entry: tuple[bytes, object]) -> int:
    return len(entry[0]) + _ENTRY_OVERHEAD


_interned_names: LRUCache[frozenset[str], frozenset[str]] = LRUCache(_INTERNED, lambda names: len(names) + 1)


def _parse_sotw(rest: bytes) -> SotwRequest:
    message = discovery_pb2.DiscoveryRequest()
    _decode(message, rest)
    names = frozenset(message.resource_names)
    return SotwRequest(
        message.type_url,
        message.version_info,
        # One object for equal names, so that who has seen it before need not look at the names.
        _interned(names),
        message.response_nonce,
        _error_of(message.error_detail) if message.HasField("error_detail") else None,
        message.node.SerializeToString() if message.HasField("node") else b"",
    )


def _interned(names: frozenset[str]) -> frozenset[str]:
    known = _interned_names.get(names)
    if known is None:
        known = names
        if len(names) < _INTERNED:
            _interned_names[names] = names
    return known


def _parse_delta(rest: bytes) -> DeltaRequest:
    message = discovery_pb2.DeltaDiscoveryRequest()
    _decode(message, rest)
    return DeltaRequest(
        message.type_url,
        frozenset(message.resource_names_subscribe),
        frozenset(message.resource_names_unsubscribe),
        dict(message.initial_resource_versions),
        message.response_nonce,
        _error_of(message.error_detail) if message.HasField("error_detail") else None,
        message.node.SerializeToString() if message.HasField("node") else b"",
    )


def decode(message: Message, raw: bytes, refusal: str) -> None:
    """Read bytes into a message.

    Raises:
        RequestError: they are none of its type; `refusal` says it.
    """
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise RequestError(refusal) from error


def _decode(message: Message, raw: bytes) -> None:
    decode(message, raw, f"these {len(raw)} bytes are not a {message.DESCRIPTOR.name}")


def _error_of(status: status_pb2.Status) -> ErrorDetail:
    return ErrorDetail(status.code, status.message)
