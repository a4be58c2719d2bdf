"""What one node was sent, has accepted and has refused, resource by resource: the rows of CSDS. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource


class ConfigStatus(StrEnum):
    """How the server sees it (envoy.service.status.v3.ConfigStatus)."""

    UNKNOWN = "UNKNOWN"
    SYNCED = "SYNCED"
    NOT_SENT = "NOT_SENT"
    STALE = "STALE"
    ERROR = "ERROR"


class ClientStatus(StrEnum):
    """How the client sees it (envoy.admin.v3.ClientResourceStatus)."""

    REQUESTED = "REQUESTED"
    DOES_NOT_EXIST = "DOES_NOT_EXIST"
    ACKED = "ACKED"
    NACKED = "NACKED"


class OnItsWay(NamedTuple):
    """A response without an answer: what is new in it (None: removed)."""

    changes: Mapping[str, str | None]


class Said(NamedTuple):
    """A refusal: in the node's words, and when (POSIX seconds)."""

    message: str
    at: float


@dataclass(frozen=True, slots=True)
class TypeView:
    """What a stream knows of one type at one moment; nothing of it changes any more.

    `covers` tells what is asked for, `names` what of it by name. `wanted` is what the group has, `accepted` what the node
    has, both beyond what is asked for. `pending` are the responses without an answer, oldest first; `refused` has
    what the node refuses of `wanted`. Times are POSIX seconds.
    """

    type_url: str
    covers: Callable[[str], bool]
    wildcard: bool
    names: frozenset[str]
    wanted: Typeset
    accepted: Typeset
    pending: tuple[OnItsWay, ...]
    refused: Mapping[str, str | None]
    said: Said | None
    updated: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One resource on one node: the versions that it was `sent` last and has `accepted`, None for neither.

    `has` is the content that the node has, `refused` the one that it refuses, as far as they are known.
    """

    type_url: str
    name: str
    sent: str | None
    accepted: str | None
    status: ConfigStatus
    client: ClientStatus
    said: Said | None
    updated: float | None
    has: Resource | None
    refused: Resource | None


def rows(view: TypeView) -> Iterator[Row]:
    """A row for each resource that the node has, should have, or asks for by name; in the order of names."""
    found = {*view.names, *(name for name in (*view.wanted.resources, *view.accepted.resources) if view.covers(name))}
    for response in view.pending:
        found.update(name for name in response.changes if view.covers(name))
    for name in sorted(found):
        yield _row(view, name)


def newest(views: Iterable[Iterable[TypeView]]) -> list[TypeView]:
    """Of the streams of one id, oldest first: each type as the stream sees it that came last."""
    by_type = {view.type_url: view for stream in views for view in stream}
    return list(by_type.values())


def _row(view: TypeView, name: str) -> Row:
    wanted, accepted = view.wanted.version_of(name), view.accepted.version_of(name)
    has = view.accepted.get(name)
    is_refused = name in view.refused and wanted is not None
    status, sent = _status(view, name, wanted, accepted)
    return Row(
        view.type_url,
        name,
        sent,
        accepted,
        status,
        _client(status, accepted),
        view.said if is_refused else None,
        view.updated if accepted is not None else None,
        has if has is not None and has.is_known else None,
        view.wanted.get(name) if is_refused else None,
    )


def _status(view: TypeView, name: str, wanted: str | None, accepted: str | None) -> tuple[ConfigStatus, str | None]:
    if name in view.refused and wanted is not None:
        return ConfigStatus.ERROR, view.refused[name]
    for response in reversed(view.pending):
        if name in response.changes:
            return ConfigStatus.STALE, response.changes[name]
    if wanted == accepted:
        return (ConfigStatus.SYNCED if wanted is not None else ConfigStatus.UNKNOWN), accepted
    return ConfigStatus.NOT_SENT, accepted


def _client(status: ConfigStatus, accepted: str | None) -> ClientStatus:
    if status is ConfigStatus.ERROR:
        return ClientStatus.NACKED
    if accepted is not None:
        return ClientStatus.ACKED
    return ClientStatus.DOES_NOT_EXIST if status is ConfigStatus.UNKNOWN else ClientStatus.REQUESTED
