"""The xDS protocol as the raw client speaks it: type URLs, requests, and responses taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any as Anything

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2, extension_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2, scoped_route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.service.discovery.v3 import discovery_pb2
from envoy.service.runtime.v3 import rtds_pb2
from google.protobuf import any_pb2, struct_pb2
from google.protobuf.message import Message

PREFIX = "type.googleapis.com/"

MESSAGES: dict[str, type[Message]] = {
    "cds": cluster_pb2.Cluster,
    "eds": endpoint_pb2.ClusterLoadAssignment,
    "lds": listener_pb2.Listener,
    "rds": route_pb2.RouteConfiguration,
    "sds": secret_pb2.Secret,
    "srds": scoped_route_pb2.ScopedRouteConfiguration,
    "vhds": route_components_pb2.VirtualHost,
    "rtds": rtds_pb2.Runtime,
    "ecds": extension_pb2.TypedExtensionConfig,
}
"""The resource types by short key."""

URLS = {key: PREFIX + message.DESCRIPTOR.full_name for key, message in MESSAGES.items()}
KEYS = {url: key for key, url in URLS.items()}
MAIN = ("cds", "eds", "lds", "rds", "sds")
"""The five types that every Envoy asks for."""

WHOLE = frozenset({"cds", "lds"})
"""Types whose SotW responses hold everything, so that what is missing is gone (xDS spec, "Deleting resources")."""

GROUP_METADATA = "tidegate.dev/group"

_MARK = re.compile(rb"mark-([\w.]+);")


class Variant(StrEnum):
    """State of the world, or incremental."""

    SOTW = "sotw"
    DELTA = "delta"


BOTH = (Variant.SOTW, Variant.DELTA)


@dataclass(frozen=True, slots=True)
class Received:
    """One response. `at` is monotonic seconds; `resources` are name → bytes, `versions` name → version (delta)."""

    at: float
    key: str
    version: str
    nonce: str
    resources: Mapping[str, bytes]
    size: int
    removed: frozenset[str] = frozenset()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The names of what was sent."""
        return set(self.resources)


def mark_of(body: bytes | None) -> str | None:
    """The mark that a test put into a resource, read from its bytes; None without one."""
    found = _MARK.search(body or b"")
    return found.group(1).decode() if found else None


def marks_of(held: Mapping[str, bytes]) -> dict[str, str | None]:
    """Name → mark of all that is held of a type."""
    return {name: mark_of(body) for name, body in held.items()}


def url_of(key: str) -> str:
    """The type URL of a short key; a type URL stays what it is."""
    return URLS.get(key, key)


def node_of(
    id: str,  # noqa: A002 - the field's name
    *,
    group: str = "",
    cluster: str = "",
    metadata: Mapping[str, str] | None = None,
) -> base_pb2.Node:
    """A node; `group` becomes its metadata entry."""
    fields = dict(metadata or {}) | ({GROUP_METADATA: group} if group else {})
    packed = struct_pb2.Struct()
    packed.update(fields)
    return base_pb2.Node(id=id, cluster=cluster, metadata=packed if fields else None)


def read(variant: Variant, raw: bytes, at: float) -> Received:
    """Take a response apart."""
    return _read_sotw(raw, at) if variant is Variant.SOTW else _read_delta(raw, at)


def _read_sotw(raw: bytes, at: float) -> Received:
    message = discovery_pb2.DiscoveryResponse.FromString(raw)
    key = KEYS.get(message.type_url, message.type_url)
    resources = {_name_of(packed): packed.value for packed in message.resources}
    return Received(at, key, message.version_info, message.nonce, resources, len(raw))


def _read_delta(raw: bytes, at: float) -> Received:
    message = discovery_pb2.DeltaDiscoveryResponse.FromString(raw)
    key = KEYS.get(message.type_url, message.type_url)
    resources = {each.name: each.resource.value for each in message.resources}
    versions = {each.name: each.version for each in message.resources}
    removed = frozenset(message.removed_resources)
    return Received(at, key, message.system_version_info, message.nonce, resources, len(raw), removed, versions)


def _name_of(packed: any_pb2.Any) -> str:
    cls = MESSAGES.get(KEYS.get(packed.type_url, ""))
    if cls is None:
        return packed.TypeName()
    message = cls.FromString(packed.value)
    return str(getattr(message, "cluster_name", "") or getattr(message, "name", ""))


def sotw_request(
    key: str,
    names: Iterable[str] = (),
    *,
    version: str = "",
    nonce: str = "",
    error: str | None = None,
    node: base_pb2.Node | None = None,
) -> Message:
    """A DiscoveryRequest; `error` makes it a NACK."""
    message: Anything = discovery_pb2.DiscoveryRequest(
        version_info=version, node=node, resource_names=sorted(names), type_url=url_of(key), response_nonce=nonce
    )
    if error is not None:
        message.error_detail.code = 3
        message.error_detail.message = error
    packed: Message = message
    return packed


def delta_request(
    key: str,
    subscribe: Iterable[str] = (),
    unsubscribe: Iterable[str] = (),
    *,
    initial: Mapping[str, str] | None = None,
    nonce: str = "",
    error: str | None = None,
    node: base_pb2.Node | None = None,
) -> Message:
    """A DeltaDiscoveryRequest; `initial` are the versions of what the client holds, `error` makes it a NACK."""
    message: Anything = discovery_pb2.DeltaDiscoveryRequest(
        node=node,
        type_url=url_of(key),
        resource_names_subscribe=sorted(subscribe),
        resource_names_unsubscribe=sorted(unsubscribe),
        initial_resource_versions=initial or {},
        response_nonce=nonce,
    )
    if error is not None:
        message.error_detail.code = 3
        message.error_detail.message = error
    packed: Message = message
    return packed
