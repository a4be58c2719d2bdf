"""The HTTP connection manager of a listener: how requests are read, as Envoy's guide for edge proxies has it.

Left out of the guide is what a client or a backend would notice: headers with underscores pass, `%2F` in a path stays,
a request may take as long as it needs, and the limits of buffers are Envoy's.
"""

from __future__ import annotations

from envoy.config.core.v3.protocol_pb2 import Http2ProtocolOptions
from envoy.config.listener.v3.listener_components_pb2 import Filter
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import (
    HttpConnectionManager,
)
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from xds_server.translate.gateway.filters import local_ratelimit, router
from xds_server.translate.gateway.sources import over_ads

_NAME = "envoy.filters.network.http_connection_manager"
_HEADERS_WITHIN = Duration(seconds=10)
_STREAMS = 100
_STREAM_WINDOW = 2**16
_CONNECTION_WINDOW = 2**20


def connection_manager(name: str) -> Filter:
    """The network filter of listener `name`, whose routes come over ADS under the same name."""
    manager = HttpConnectionManager(
        codec_type=HttpConnectionManager.AUTO,
        stat_prefix=name,
        http_filters=[local_ratelimit.in_listener(), router.in_listener()],
        http2_protocol_options=Http2ProtocolOptions(
            max_concurrent_streams=UInt32Value(value=_STREAMS),
            initial_stream_window_size=UInt32Value(value=_STREAM_WINDOW),
            initial_connection_window_size=UInt32Value(value=_CONNECTION_WINDOW),
        ),
        request_headers_timeout=_HEADERS_WITHIN,
        use_remote_address=BoolValue(value=True),
        normalize_path=BoolValue(value=True),
        merge_slashes=True,
        server_header_transformation=HttpConnectionManager.PASS_THROUGH,
    )
    manager.upgrade_configs.add(upgrade_type="websocket")
    manager.rds.route_config_name = name
    manager.rds.config_source.CopyFrom(over_ads())
    made = Filter(name=_NAME)
    made.typed_config.Pack(manager, deterministic=True)
    return made
