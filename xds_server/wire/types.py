"""The xDS resource types: type URLs, their short keys, and the rules that differ by type."""

from __future__ import annotations

PREFIX = "type.googleapis.com/"

CLUSTER = PREFIX + "envoy.config.cluster.v3.Cluster"
ENDPOINT = PREFIX + "envoy.config.endpoint.v3.ClusterLoadAssignment"
LISTENER = PREFIX + "envoy.config.listener.v3.Listener"
ROUTE = PREFIX + "envoy.config.route.v3.RouteConfiguration"
SECRET = PREFIX + "envoy.extensions.transport_sockets.tls.v3.Secret"
SCOPED_ROUTE = PREFIX + "envoy.config.route.v3.ScopedRouteConfiguration"
VIRTUAL_HOST = PREFIX + "envoy.config.route.v3.VirtualHost"
RUNTIME = PREFIX + "envoy.service.runtime.v3.Runtime"
EXTENSION = PREFIX + "envoy.config.core.v3.TypedExtensionConfig"

KEY_BY_URL = {CLUSTER: "cds", ENDPOINT: "eds", LISTENER: "lds", ROUTE: "rds", SECRET: "sds"}
URL_BY_KEY = {key: url for url, key in KEY_BY_URL.items()}

BY_NAME_ONLY = frozenset({ENDPOINT, ROUTE, SECRET, VIRTUAL_HOST, RUNTIME, EXTENSION})
"""Types without the legacy wildcard: an empty first request asks for nothing (xDS spec, "How the client
specifies what resources to return"). Listeners, clusters and scoped routes have it."""

WHOLE_STATE = frozenset({CLUSTER, LISTENER})
"""Types whose SotW response holds all that is subscribed, so that absence means deletion (xDS spec,
"Deleting resources"); for the others a response may hold only what changed."""


def key_of(type_url: str) -> str:
    """The short key (`cds`) of a type URL, or the URL itself where the type has none."""
    return KEY_BY_URL.get(type_url, type_url)


def url_of(key: str) -> str:
    """The type URL of a short key; a type URL is returned as it is."""
    return URL_BY_KEY.get(key, key)
