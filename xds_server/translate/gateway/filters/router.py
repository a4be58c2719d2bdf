"""The router: the filter that sends requests on, the last of every list."""

from __future__ import annotations

from envoy.extensions.filters.http.router.v3.router_pb2 import Router
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import HttpFilter

NAME = "envoy.filters.http.router"


def in_listener() -> HttpFilter:
    """The filter."""
    made = HttpFilter(name=NAME)
    made.typed_config.Pack(Router(), deterministic=True)
    return made
