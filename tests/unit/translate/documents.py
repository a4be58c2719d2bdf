"""Short ways to write native documents in tests."""

from __future__ import annotations

import pytest

from xds_server.ir.declared import NativeDocument
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem, ProblemError
from xds_server.translate.native import decode
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX

ORIGIN = Origin("files", "config/a.yaml", 1, 3)
ADS: dict[str, object] = {"ads": {}, "resource_api_version": "V3"}

CLUSTER = "envoy.config.cluster.v3.Cluster"
ENDPOINT = "envoy.config.endpoint.v3.ClusterLoadAssignment"
LISTENER = "envoy.config.listener.v3.Listener"
ROUTE = "envoy.config.route.v3.RouteConfiguration"
SECRET = "envoy.extensions.transport_sockets.tls.v3.Secret"
HCM = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
TCP_PROXY = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
UPSTREAM_TLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
DOWNSTREAM_TLS = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"


def any_of(type_name: str, **fields: object) -> dict[str, object]:
    """A message inside an Any."""
    return {"@type": PREFIX + type_name, **fields}


def document(type_name: str, within: str = "", /, **fields: object) -> NativeDocument:
    """A native document of this type."""
    return NativeDocument("default", any_of(type_name, **fields), ORIGIN, within)


def made(type_name: str, **fields: object) -> Resource:
    """The resource of a document."""
    return decode(document(type_name, **fields))


def refused(type_name: str, within: str = "", /, **fields: object) -> Problem:
    """The problem of a document."""
    with pytest.raises(ProblemError) as caught:
        decode(document(type_name, within, **fields))
    return caught.value.problem


def sds(name: str, **source: object) -> dict[str, object]:
    """A reference to a secret."""
    return {"name": name, "sds_config": source or ADS}


def listener(*filters: dict[str, object], **fields: object) -> Resource:
    """A listener with one chain of these network filters."""
    chain = {"filters": [{"name": "f", "typed_config": each} for each in filters]}
    return made(LISTENER, name="l", filter_chains=[chain], **fields)


def routes(*actions: dict[str, object], **fields: object) -> Resource:
    """A route configuration whose one virtual host has a route for each action."""
    found = [{"match": {"prefix": "/"}, **action} for action in actions]
    return made(ROUTE, name="r", virtual_hosts=[{"name": "v", "domains": ["*"], "routes": found}], **fields)


def to(cluster: str) -> dict[str, object]:
    """A route to a cluster."""
    return {"route": {"cluster": cluster}}
