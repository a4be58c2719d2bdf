"""Metrics of the work in a cluster, under the names that users of controller-runtime and client-go know.

Those are in client-go's util/workqueue/metrics.go and tools/leaderelection/metrics.go, and in controller-runtime's
pkg/internal/controller/metrics; dashboards and alerts made for them find the same here. The buckets are ours, and what has no such name.
"""

from __future__ import annotations

from xds_server.telemetry.metric import Kind, Metric

ERROR = "error"
TERMINAL = "terminal"
RESULTS = ("success", ERROR, "requeue", "requeue_after")
"""Values of the label `result`. `terminal` is none: such an error counts as `error`, and once more by itself."""

_WAITS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1000.0)
_CALLS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

DEPTH = Metric("workqueue_depth", Kind.GAUGE, ("name",), "Keys that wait for a worker.")
ADDS = Metric("workqueue_adds_total", Kind.COUNTER, ("name",), "Keys that were added and did not wait already.")
QUEUE_SECONDS = Metric(
    "workqueue_queue_duration_seconds", Kind.HISTOGRAM, ("name",), "Time that a key waited for a worker.", _WAITS
)
WORK_SECONDS = Metric(
    "workqueue_work_duration_seconds", Kind.HISTOGRAM, ("name",), "Time that work on a key took.", _WAITS
)
RETRIES = Metric("workqueue_retries_total", Kind.COUNTER, ("name",), "Keys that were put back behind their back-off.")
UNFINISHED = Metric(
    "workqueue_unfinished_work_seconds", Kind.GAUGE, ("name",), "Seconds of all work that goes on, added up."
)
LONGEST = Metric(
    "workqueue_longest_running_processor_seconds", Kind.GAUGE, ("name",), "Seconds of the longest work that goes on."
)
RECONCILES = Metric(
    "controller_runtime_reconcile_total",
    Kind.COUNTER,
    ("controller", "result"),
    "Reconciles by how they ended: success, error, requeue or requeue_after.",
)
RECONCILE_ERRORS = Metric(
    "controller_runtime_reconcile_errors_total", Kind.COUNTER, ("controller",), "Reconciles that failed."
)
TERMINAL_ERRORS = Metric(
    "controller_runtime_terminal_reconcile_errors_total",
    Kind.COUNTER,
    ("controller",),
    "Those of them that are not tried again before something changes.",
)
RECONCILE_SECONDS = Metric(
    "controller_runtime_reconcile_time_seconds", Kind.HISTOGRAM, ("controller",), "Time that a reconcile took.", _CALLS
)
ACTIVE_WORKERS = Metric("controller_runtime_active_workers", Kind.GAUGE, ("controller",), "Reconciles that go on now.")
MAX_CONCURRENT = Metric(
    "controller_runtime_max_concurrent_reconciles", Kind.GAUGE, ("controller",), "Reconciles that may go on at a time."
)
LEADER = Metric(
    "leader_election_master_status",
    Kind.GAUGE,
    ("name",),
    "1 when this replica is the leader, by the name of the Lease.",
)
EVENTS = Metric(
    "tidegate_kubernetes_events_total",
    Kind.COUNTER,
    ("outcome",),
    "Kubernetes Events: written, refused by the API server, failed after all tries, or dropped since too many waited.",
)

WORK = (
    DEPTH,
    ADDS,
    QUEUE_SECONDS,
    WORK_SECONDS,
    RETRIES,
    UNFINISHED,
    LONGEST,
    RECONCILES,
    RECONCILE_ERRORS,
    TERMINAL_ERRORS,
    RECONCILE_SECONDS,
    ACTIVE_WORKERS,
    MAX_CONCURRENT,
    LEADER,
    EVENTS,
)
"""All of them, in the order in which the reference page lists them."""
