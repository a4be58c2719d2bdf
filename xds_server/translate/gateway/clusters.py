"""From backends to clusters: their endpoints come over ADS, under the same name."""

from __future__ import annotations

from envoy.config.cluster.v3.cluster_pb2 import Cluster
from envoy.config.core.v3.protocol_pb2 import Http2ProtocolOptions
from envoy.extensions.upstreams.http.v3.http_protocol_options_pb2 import HttpProtocolOptions
from google.protobuf.duration_pb2 import Duration

from xds_server.ir.backend import BackendKey
from xds_server.ir.origin import Origin
from xds_server.ir.refs import Refs
from xds_server.translate.gateway.names import cluster_name
from xds_server.translate.gateway.sources import over_ads
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER

_CONNECT = Duration(seconds=5)
"""Room for two lost SYNs, which are sent again after 1 s and 3 s."""

_PROTOCOLS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


def cluster(backend: BackendKey, origins: tuple[Origin, ...], *, http2: bool) -> Resource:
    """The cluster of a backend; `http2` where its endpoints speak HTTP/2 without TLS (gRPC)."""
    name = cluster_name(backend)
    message = Cluster(name=name, type=Cluster.EDS, connect_timeout=_CONNECT)
    message.eds_cluster_config.eds_config.CopyFrom(over_ads())
    if http2:
        options = HttpProtocolOptions()
        options.explicit_http_config.http2_protocol_options.CopyFrom(Http2ProtocolOptions())
        message.typed_extension_protocol_options[_PROTOCOLS].Pack(options, deterministic=True)
    body = message.SerializeToString(deterministic=True)
    return Resource(name, CLUSTER, body, Refs(assignments=frozenset({name})), origins)
