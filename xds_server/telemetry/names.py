"""The table of all metrics: name, kind, labels, and what each one counts."""

from __future__ import annotations

from xds_server.telemetry.metric import Kind, Metric
from xds_server.telemetry.names_kubernetes import KUBERNETES
from xds_server.telemetry.names_webhook import WEBHOOK
from xds_server.telemetry.names_work import WORK

_ROUND_TRIP = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)
_WORK = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

CONNECTED_NODES = Metric("tidegate_connected_nodes", Kind.GAUGE, ("group",), "Nodes that are connected now.")
REPLICA_UP = Metric(
    "tidegate_replica_up", Kind.GAUGE, ("replica",), "1 while another replica tells what its nodes have, else 0."
)
STREAMS = Metric("tidegate_streams", Kind.GAUGE, ("protocol",), "Streams that are open now.")
PUSHES = Metric("tidegate_pushes_total", Kind.COUNTER, ("type",), "Responses handed to the transport.")
PUSH_BYTES = Metric("tidegate_push_bytes_total", Kind.COUNTER, ("type",), "Bytes of these responses.")
ACKS = Metric("tidegate_acks_total", Kind.COUNTER, ("type",), "Responses that a node accepted.")
NACKS = Metric("tidegate_nacks_total", Kind.COUNTER, ("type", "group"), "Responses that a node refused.")
ACK_LATENCY = Metric(
    "tidegate_ack_latency_seconds", Kind.HISTOGRAM, ("type",), "From a response to its ACK.", _ROUND_TRIP
)
PUSH_LATENCY = Metric(
    "tidegate_push_latency_seconds",
    Kind.HISTOGRAM,
    (),
    "From the first change of a batch seen to its snapshots handed to the streams.",
    _ROUND_TRIP,
)
SNAPSHOT_BUILD = Metric(
    "tidegate_snapshot_build_seconds", Kind.HISTOGRAM, (), "Time to make the snapshots of one round of changes.", _WORK
)
SNAPSHOTS = Metric("tidegate_snapshots_total", Kind.COUNTER, ("group",), "Snapshots that were published.")
RESOURCES = Metric("tidegate_resources", Kind.GAUGE, ("group", "type"), "Resources in the snapshot that is served.")
LEFT_OUT = Metric("tidegate_resources_left_out", Kind.GAUGE, ("group",), "Declared resources that are not served.")
WITHHELD = Metric(
    "tidegate_resources_withheld",
    Kind.GAUGE,
    ("group",),
    "Resources whose content some node refused and none accepted, so that new nodes are not given it.",
)
SOURCE_UP = Metric(
    "tidegate_source_up", Kind.GAUGE, ("source",), "1 when the source has handed over all it has and can be read."
)
SOURCE_ERRORS = Metric("tidegate_source_errors", Kind.GAUGE, ("source",), "Problems that stand in the source now.")
SOURCE_LAST_SYNC = Metric(
    "tidegate_source_last_sync_timestamp_seconds",
    Kind.GAUGE,
    ("source",),
    "When the source last handed something over (POSIX time).",
)
GROUP_HELD = Metric("tidegate_group_held", Kind.GAUGE, ("group",), "1 when the group is held at a version (rollback).")
STATE_UP = Metric("tidegate_state_up", Kind.GAUGE, (), "1 when what was last to be written to `state_dir` could be.")
STATE_STORED_SEQ = Metric(
    "tidegate_state_stored_seq", Kind.GAUGE, ("group",), "The seq of the newest snapshot of the group on disk."
)
STATE_FILES_DAMAGED = Metric(
    "tidegate_state_files_damaged", Kind.GAUGE, (), "Files in `state_dir` that were not whole when the process started."
)
SEQUENCER_TIMEOUTS = Metric(
    "tidegate_sequencer_timeouts_total",
    Kind.COUNTER,
    ("type",),
    "Steps of make before break that went on without the node's answer.",
)
CREDENTIAL_UP = Metric(
    "tidegate_credential_up",
    Kind.GAUGE,
    ("credential",),
    "1 when a certificate or token file is in use as it is now, 0 when an earlier content is.",
)
REQUESTS_REJECTED = Metric(
    "tidegate_requests_rejected_total", Kind.COUNTER, ("reason",), "Requests of xDS clients that were refused."
)
PREFLIGHT_CHECKS = Metric(
    "tidegate_preflight_checks_total",
    Kind.COUNTER,
    ("outcome",),
    "Changes that a real Envoy was to check: accepted, refused, or served unchecked (timeout, unavailable, skipped).",
)
PREFLIGHT_SECONDS = Metric(
    "tidegate_preflight_seconds", Kind.HISTOGRAM, (), "Time that the check of one change took.", _ROUND_TRIP
)
KAFKA_LAG = Metric(
    "tidegate_kafka_lag",
    Kind.GAUGE,
    ("cluster", "group", "topics"),
    "Records that a consumer group has still to read; partitions without a commit count from their beginning.",
)
OBSERVER_SAMPLE_AGE = Metric(
    "tidegate_observer_sample_age_seconds",
    Kind.GAUGE,
    ("observer", "key"),
    "Age of the newest value of a query, also when it is too old to be used.",
)
OBSERVER_BREAKER = Metric(
    "tidegate_observer_breaker_state",
    Kind.GAUGE,
    ("observer", "target", "state"),
    "1 for the state that the breaker of a target is in: closed, open, half_open.",
)
OBSERVER_SAMPLE_SECONDS = Metric(
    "tidegate_observer_sample_seconds",
    Kind.HISTOGRAM,
    ("observer", "target"),
    "Time that a round of asking a target took.",
    _ROUND_TRIP,
)
OBSERVER_FAILURES = Metric(
    "tidegate_observer_failures_total",
    Kind.COUNTER,
    ("observer", "target", "reason"),
    "Queries that a round could not answer, or whose answer is no value of use, such as NaN.",
)
GATEWAY_ROUTES = Metric(
    "tidegate_gateway_routes",
    Kind.GAUGE,
    ("namespace", "gateway", "decision"),
    "Routes of a gateway by where they lead now: primary, degraded, fail_open or rejected.",
)
GATEWAY_UNKNOWN = Metric(
    "tidegate_gateway_routes_unknown",
    Kind.GAUGE,
    ("namespace", "gateway"),
    "Routes of a gateway whose lag, or other value, is unknown, so that their last decision is held.",
)
GATEWAY_READY = Metric(
    "tidegate_gateway_ready", Kind.GAUGE, ("namespace", "gateway"), "1 when the gateway's condition Ready is True."
)
MAX_QPS_SHARE = Metric(
    "tidegate_max_qps_share",
    Kind.GAUGE,
    ("group",),
    "The part of each route's `maxQps` that one Envoy of the group lets through; groups without a limit are left out.",
)
TRANSITIONS = Metric(
    "tidegate_gateway_transitions_total",
    Kind.COUNTER,
    ("namespace", "gateway", "decision"),
    "Changes of a route's decision, by what was decided.",
)
SWITCH = Metric(
    "tidegate_switch",
    Kind.GAUGE,
    ("switch", "route", "value"),
    "1 for each switch that is set: read_only, freeze, degradation; `route` is * for all.",
)
GROUP_BEHIND = Metric(
    "tidegate_group_behind", Kind.GAUGE, ("group",), "1 when a switch keeps the group from what is declared."
)
BREAKER_OPEN = Metric(
    "tidegate_degradation_breaker_open",
    Kind.GAUGE,
    (),
    "1 while decisions are held, since too many routes would degrade at once.",
)
BREAKER_HELD = Metric(
    "tidegate_degradation_breaker_held_routes", Kind.GAUGE, (), "Routes whose newest verdict does not count for that."
)
BREAKER_TRIPS = Metric(
    "tidegate_degradation_breaker_trips_total", Kind.COUNTER, (), "How often the breaker on degradation has tripped."
)

ALL = (
    CONNECTED_NODES,
    REPLICA_UP,
    STREAMS,
    PUSHES,
    PUSH_BYTES,
    ACKS,
    NACKS,
    ACK_LATENCY,
    PUSH_LATENCY,
    SNAPSHOT_BUILD,
    SNAPSHOTS,
    RESOURCES,
    LEFT_OUT,
    WITHHELD,
    SOURCE_UP,
    SOURCE_ERRORS,
    SOURCE_LAST_SYNC,
    GROUP_HELD,
    STATE_UP,
    STATE_STORED_SEQ,
    STATE_FILES_DAMAGED,
    SEQUENCER_TIMEOUTS,
    CREDENTIAL_UP,
    REQUESTS_REJECTED,
    PREFLIGHT_CHECKS,
    PREFLIGHT_SECONDS,
    KAFKA_LAG,
    OBSERVER_SAMPLE_AGE,
    OBSERVER_BREAKER,
    OBSERVER_SAMPLE_SECONDS,
    OBSERVER_FAILURES,
    GATEWAY_ROUTES,
    GATEWAY_UNKNOWN,
    GATEWAY_READY,
    MAX_QPS_SHARE,
    TRANSITIONS,
    SWITCH,
    GROUP_BEHIND,
    BREAKER_OPEN,
    BREAKER_HELD,
    BREAKER_TRIPS,
    *KUBERNETES,
    *WORK,
    *WEBHOOK,
)
"""Every metric, in the order in which the reference page lists them."""
