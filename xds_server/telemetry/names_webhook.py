"""Metrics of `tidegate webhook`, under the names that users of controller-runtime know (pkg/webhook/internal/metrics)."""

from __future__ import annotations

from xds_server.telemetry.metric import Kind, Metric

_ANSWERS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

REQUESTS = Metric(
    "controller_runtime_webhook_requests_total",
    Kind.COUNTER,
    ("webhook", "code"),
    "Reviews by path and by the status of the answer.",
)
LATENCY = Metric(
    "controller_runtime_webhook_latency_seconds", Kind.HISTOGRAM, ("webhook",), "Time that an answer took.", _ANSWERS
)
EXPIRES = Metric(
    "tidegate_webhook_certificate_expiry_timestamp_seconds",
    Kind.GAUGE,
    (),
    "When the certificate ends that the webhook serves with (POSIX time).",
)

WEBHOOK: tuple[Metric, ...] = (REQUESTS, LATENCY, EXPIRES)
