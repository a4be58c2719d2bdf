"""The messages of the Client Status Discovery Service (envoy/service/status/v3/csds.proto)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from envoy.admin.v3 import config_dump_shared_pb2
from envoy.service.status.v3 import csds_pb2
from envoy.type.matcher.v3 import node_pb2, string_pb2, value_pb2
from google.protobuf import json_format, struct_pb2

from xds_server.wire.request import RequestError, decode

CSDS = "envoy.service.status.v3.ClientStatusDiscoveryService"
STREAM, FETCH = "StreamClientStatus", "FetchClientStatus"

Content = tuple[str, bytes]
"""Type URL and bytes of an Any."""


@dataclass(frozen=True, slots=True)
class Client:
    """Who a client is; `metadata` is the Struct that it sent, empty when that was too large to be kept."""

    id: str
    cluster: str
    build: str
    metadata: bytes = b""


@dataclass(frozen=True, slots=True)
class Entry:
    """One resource of a client; the statuses are the names of the protocol's values, times POSIX seconds."""

    type_url: str
    name: str
    version: str
    config_status: str
    client_status: str
    updated: float | None
    content: Content | None
    refused: Content | None
    refused_version: str = ""
    refused_at: float | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: whose status (`wants`), and whether contents are to be left out."""

    wants: Callable[[Client], bool]
    without_contents: bool


def query(raw: bytes) -> Query:
    """Read a ClientStatusRequest; without matchers all clients are meant.

    Raises:
        RequestError: it is malformed, or asks for a match that is not supported (regular expressions, own matchers).
    """
    request = csds_pb2.ClientStatusRequest()
    decode(request, raw, "the request is not a ClientStatusRequest")
    matchers = list(request.node_matchers)
    for matcher in matchers:
        _check(matcher)
    return Query(
        lambda client: not matchers or any(_fits(each, client) for each in matchers), request.exclude_resource_contents
    )


def response(clients: Iterable[tuple[Client, Iterable[Entry]]]) -> bytes:
    """Build a ClientStatusResponse."""
    made = csds_pb2.ClientStatusResponse()
    for client, entries in clients:
        config = made.config.add()
        config.node.id, config.node.cluster, config.node.user_agent_version = client.id, client.cluster, client.build
        if client.metadata:
            config.node.metadata.ParseFromString(client.metadata)
        for entry in entries:
            _fill(config.generic_xds_configs.add(), entry)
    message: bytes = made.SerializeToString()
    return message


def _fill(config: Any, entry: Entry) -> None:
    config.type_url, config.name, config.version_info = entry.type_url, entry.name, entry.version
    config.config_status = csds_pb2.ConfigStatus.Value(entry.config_status)
    config.client_status = config_dump_shared_pb2.ClientResourceStatus.Value(entry.client_status)
    if entry.updated is not None:
        config.last_updated.FromMicroseconds(int(entry.updated * 1e6))
    if entry.content is not None:
        config.xds_config.type_url, config.xds_config.value = entry.content
    if entry.refused_at is not None:
        failure = config.error_state
        failure.details, failure.version_info = entry.said, entry.refused_version
        failure.last_update_attempt.FromMicroseconds(int(entry.refused_at * 1e6))
        if entry.refused is not None:
            failure.failed_configuration.type_url, failure.failed_configuration.value = entry.refused


def _check(matcher: node_pb2.NodeMatcher) -> None:
    """Refuse what is not supported: a client's regular expression could keep this process busy for ever."""
    for text in _texts(matcher):
        if text.WhichOneof("match_pattern") in ("safe_regex", "custom"):
            msg = "node_matchers: only exact, prefix, suffix and contains are supported for texts"
            raise RequestError(msg)


def _texts(message: Any) -> Iterable[string_pb2.StringMatcher]:
    """All matchers of texts below a message."""
    if isinstance(message, string_pb2.StringMatcher):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                yield from _texts(each)


def _fits(matcher: node_pb2.NodeMatcher, client: Client) -> bool:
    if matcher.HasField("node_id") and not _text(matcher.node_id, client.id):
        return False
    if not matcher.node_metadatas:
        return True
    metadata = json_format.MessageToDict(struct_pb2.Struct.FromString(client.metadata))
    return all(_at(each.path, each.value, metadata) for each in matcher.node_metadatas)


def _at(path: Iterable[Any], wanted: value_pb2.ValueMatcher, value: Any) -> bool:
    for segment in path:
        if not isinstance(value, dict) or segment.key not in value:
            return False
        value = value[segment.key]
    return _value(wanted, value)


def _value(wanted: value_pb2.ValueMatcher, value: Any) -> bool:
    match wanted.WhichOneof("match_pattern"):
        case "null_match":
            return value is None
        case "string_match":
            return isinstance(value, str) and _text(wanted.string_match, value)
        case "bool_match":
            return value is wanted.bool_match
        case "present_match":
            return bool(wanted.present_match)
        case "double_match":
            return isinstance(value, float) and _number(wanted, value)
        case "list_match":
            return isinstance(value, list) and any(_value(wanted.list_match.one_of, each) for each in value)
        case "or_match":
            return any(_value(each, value) for each in wanted.or_match.value_matchers)
        case _:
            return False


def _number(wanted: value_pb2.ValueMatcher, value: float) -> bool:
    number = wanted.double_match
    if number.WhichOneof("match_pattern") == "exact":
        return bool(number.exact == value)
    return bool(number.range.start <= value < number.range.end)


def _text(wanted: string_pb2.StringMatcher, value: str) -> bool:
    kind = wanted.WhichOneof("match_pattern")
    pattern = getattr(wanted, kind) if kind else ""
    if wanted.ignore_case:
        pattern, value = pattern.lower(), value.lower()
    match kind:
        case "exact":
            return bool(value == pattern)
        case "prefix":
            return value.startswith(pattern)
        case "suffix":
            return value.endswith(pattern)
        case "contains":
            return pattern in value
        case _:
            return False
