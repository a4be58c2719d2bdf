"""An independent decoder for each type: the messages of `envoy-data-plane` (betterproto2)."""

from __future__ import annotations

import warnings
from typing import Any

with warnings.catch_warnings():
    # Its dataclasses are declared in a way that pydantic will drop some day.
    warnings.simplefilter("ignore", DeprecationWarning)
    from envoy_data_plane.envoy.config.cluster import v3 as cluster
    from envoy_data_plane.envoy.config.core import v3 as core
    from envoy_data_plane.envoy.config.endpoint import v3 as endpoint
    from envoy_data_plane.envoy.config.listener import v3 as listener
    from envoy_data_plane.envoy.config.route import v3 as route
    from envoy_data_plane.envoy.extensions.transport_sockets.tls import v3 as tls
    from envoy_data_plane.envoy.service.runtime import v3 as runtime

DECODERS: dict[str, Any] = {
    "cds": cluster.Cluster,
    "eds": endpoint.ClusterLoadAssignment,
    "lds": listener.Listener,
    "rds": route.RouteConfiguration,
    "sds": tls.Secret,
    "srds": route.ScopedRouteConfiguration,
    "vhds": route.VirtualHost,
    "rtds": runtime.Runtime,
    "ecds": core.TypedExtensionConfig,
}
"""Message classes by short key."""
