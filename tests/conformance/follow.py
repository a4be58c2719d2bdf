"""A client that follows references as Envoy does: clusters to endpoints, listeners to routes, both to secrets.

Envoy answers for a cluster only once it has its endpoints; this one answers at once, so it shows what comes next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf.message import Message

from tests.conformance.client import Stream
from tests.conformance.wire import MESSAGES, Received

_ROUTES = re.compile(rb"[\w-]+-routes")
_SECRETS = re.compile(rb"[\w-]+-secret")
"""The names that `documents.edge` and the tests of secrets give: no need to take filter chains apart."""


def follow(stream: Stream, response: Received) -> None:
    """Ask for what a response refers to, then accept it."""
    if response.key == "cds":
        _ask(stream, "eds", _assignments(stream.holds["cds"].values()))
    if response.key == "lds":
        _ask(stream, "rds", _found(_ROUTES, stream))
    if response.key in {"cds", "lds"}:
        _ask(stream, "sds", _found(_SECRETS, stream))
    stream.ack(response)


def start(stream: Stream) -> None:
    """Ask for all clusters and listeners, as Envoy does at its start."""
    stream.answer = follow
    stream.ask("cds")
    stream.ask("lds")


def dangling(stream: Stream) -> list[str]:
    """What the client has been referred to and does not hold, as `type name`; endpoints may still be on their way."""
    clusters = stream.names_of("cds")
    missing = []
    for body in stream.holds.get("rds", {}).values():
        message: Message = MESSAGES["rds"].FromString(body)
        missing += [f"cds {name}" for name in _routed(message) if name not in clusters]
    return missing


def _routed(message: Message) -> set[str]:
    hosts = message.virtual_hosts  # type: ignore[attr-defined]
    return {route.route.cluster for host in hosts for route in host.routes if route.route.cluster}


def _ask(stream: Stream, key: str, names: set[str]) -> None:
    if names != stream.names.get(key, set()):
        stream.ask(key, *names)


def _assignments(clusters: Iterable[bytes]) -> set[str]:
    parsed = [cluster_pb2.Cluster.FromString(body) for body in clusters]
    return {
        each.eds_cluster_config.service_name or each.name for each in parsed if each.type == cluster_pb2.Cluster.EDS
    }


def _found(pattern: re.Pattern[bytes], stream: Stream) -> set[str]:
    bodies = [*stream.holds.get("lds", {}).values(), *stream.holds.get("cds", {}).values()]
    return {name.decode() for body in bodies for name in pattern.findall(body)}
