"""Metrics of what is read of an API server, and of all requests to it.

Requests are told under the name that client-go's users know (k8s.io/component-base/metrics/prometheus/restclient).
"""

from __future__ import annotations

from xds_server.telemetry.metric import Kind, Metric

_CALLS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)

LIST_SECONDS = Metric(
    "tidegate_kubernetes_list_seconds",
    Kind.HISTOGRAM,
    ("resource",),
    "Time to read all objects of a resource, of one namespace where namespaces are chosen.",
    _CALLS,
)
WATCHES = Metric("tidegate_kubernetes_watches_total", Kind.COUNTER, ("resource",), "Watches that were asked for.")
WATCHES_ENDED = Metric(
    "tidegate_kubernetes_watches_ended_total",
    Kind.COUNTER,
    ("resource", "reason"),
    "Watches that ended: timeout (in order), short (at once), silent, or error.",
)
WATCH_EVENTS = Metric(
    "tidegate_kubernetes_watch_events_total",
    Kind.COUNTER,
    ("resource", "type"),
    "Events of watches: ADDED, MODIFIED, DELETED, BOOKMARK.",
)
OBJECTS = Metric("tidegate_kubernetes_objects", Kind.GAUGE, ("resource",), "Objects that are known.")
SILENCE = Metric(
    "tidegate_kubernetes_silence_seconds",
    Kind.GAUGE,
    ("resource",),
    "Seconds since the API server last said anything of the resource; about 60 where nothing happens.",
)
INFORMER = Metric(
    "tidegate_kubernetes_informer",
    Kind.GAUGE,
    ("resource", "phase"),
    "1 for the phase of the resource: watching, absent, listing, stale or forbidden.",
)
REQUESTS = Metric(
    "rest_client_requests_total",
    Kind.COUNTER,
    ("code", "method"),
    "Requests to the API server by the status of the answer, `<error>` where there was none.",
)
REQUEST_SECONDS = Metric(
    "rest_client_request_duration_seconds",
    Kind.HISTOGRAM,
    ("method",),
    "Time to the head of the answer.",
    _CALLS,
)

KUBERNETES = (
    LIST_SECONDS,
    WATCHES,
    WATCHES_ENDED,
    WATCH_EVENTS,
    OBJECTS,
    SILENCE,
    INFORMER,
    REQUESTS,
    REQUEST_SECONDS,
)
"""All of them, in the order in which the reference page lists them."""
