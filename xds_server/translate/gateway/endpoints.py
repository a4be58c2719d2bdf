"""From endpoints to load assignments, and back."""

from __future__ import annotations

from collections.abc import Iterable

from envoy.config.endpoint.v3.endpoint_pb2 import ClusterLoadAssignment

from xds_server.ir.backend import BackendKey, Endpoint, Locality
from xds_server.ir.origin import Origin
from xds_server.ir.refs import NO_REFS
from xds_server.translate.gateway.names import cluster_name
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT


def assignment(backend: BackendKey, localities: Iterable[Locality], origins: tuple[Origin, ...]) -> Resource:
    """The assignment of a backend; an empty one says that it has no endpoints, where silence would hold Envoy up."""
    name = cluster_name(backend)
    message = ClusterLoadAssignment(cluster_name=name)
    for locality in localities:
        group = message.endpoints.add()
        if locality.zone:
            group.locality.zone = locality.zone
        for endpoint in locality.endpoints:
            address = group.lb_endpoints.add().endpoint.address.socket_address
            address.address, address.port_value = endpoint
    return Resource(name, ENDPOINT, message.SerializeToString(deterministic=True), NO_REFS, origins)


def read_back(resource: Resource) -> tuple[Locality, ...]:
    """The endpoints in an assignment that was made here, by this process or an earlier one.

    Raises:
        google.protobuf.message.DecodeError: The bytes are of another type.
    """
    message = ClusterLoadAssignment.FromString(resource.body)
    return tuple(
        Locality(group.locality.zone, tuple(_endpoint(each) for each in group.lb_endpoints))
        for group in message.endpoints
    )


def _endpoint(entry: object) -> Endpoint:
    address = entry.endpoint.address.socket_address  # type: ignore[attr-defined]
    return Endpoint(address.address, address.port_value)
