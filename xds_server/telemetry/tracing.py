"""Traces: from a change at a source to the snapshots it became, and on to each node's answer. Over OTLP, where configured.

Configured as every OpenTelemetry program is, by `OTEL_EXPORTER_OTLP_ENDPOINT` or `…_TRACES_ENDPOINT`, `OTEL_TRACES_SAMPLER`
and so on (OpenTelemetry specification, "Environment Variable Specification"); without an endpoint nothing is made.

    change                  from the first word of a source until the snapshots are handed to the streams
    ├─ assemble
    ├─ publish              one for each group: its version, seq, how many resources came, changed and went
    └─ push                 one for each node and type: from the response to its answer; an error where it was refused
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, Tracer, format_trace_id, set_span_in_context
from opentelemetry.util.types import AttributeValue

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_KEPT = 1000
"""Typesets whose pushes still find their trace: some minutes of changes."""

Key = tuple[str, str, str]
"""(group, type URL, version of the typeset)."""


class Traces:
    """Makes the spans. Without a provider every call returns at once. Times are seconds of the monotonic clock."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("tidegate") if provider else None
        self._changes: OrderedDict[Key, Span] = OrderedDict()
        self._offset = time.time_ns() - time.monotonic_ns()

    @property
    def is_on(self) -> bool:
        """Whether there is anybody to make spans for."""
        return self._tracer is not None

    @contextmanager
    def change(self, began: float) -> Iterator[ChangeTrace | None]:
        """A trace of what began at that time with the first word of a source; None where nothing is traced."""
        if self._tracer is None:
            yield None
            return
        span = self._tracer.start_span("change", start_time=self._at(began))
        try:
            yield ChangeTrace(self, self._tracer, span)
        finally:
            span.end()

    def answered(
        self, group: str, node: str, type_url: str, version: str, *, took: float, refusal: str | None = None
    ) -> None:
        """A node has just answered a response of that version, `took` seconds after it was sent."""
        change = self._changes.get((group, type_url, version))
        if change is None or self._tracer is None:
            return
        now = time.monotonic()
        attributes = {"node": node, "group": group, "type": type_url, "version": version}
        span = self._begin(self._tracer, "push", change, now - took, attributes)
        if refusal is not None:
            span.set_status(Status(StatusCode.ERROR, refusal))
        span.end(self._at(now))

    def close(self) -> None:
        """Send what has not been sent."""
        if self._provider is not None:
            self._provider.shutdown()

    def _begin(
        self, tracer: Tracer, name: str, parent: Span, began: float, attributes: Mapping[str, AttributeValue]
    ) -> Span:
        names = {f"tidegate.{key}": value for key, value in attributes.items()}
        return tracer.start_span(
            name, context=set_span_in_context(parent), start_time=self._at(began), attributes=names
        )

    def _remember(self, key: Key, change: Span) -> None:
        self._changes[key] = change
        if len(self._changes) > _KEPT:
            self._changes.popitem(last=False)

    def _at(self, monotonic: float) -> int:
        """Nanoseconds since 1970."""
        return int(monotonic * 1e9) + self._offset


class ChangeTrace:
    """The trace of one round of changes, as it goes on."""

    def __init__(self, traces: Traces, tracer: Tracer, span: Span) -> None:
        self._traces = traces
        self._tracer = tracer
        self._span = span

    @property
    def id(self) -> str:
        """The trace's id, 32 hex digits; "" when it is not sampled."""
        return format_trace_id(self._span.get_span_context().trace_id) if self._span.is_recording() else ""

    def assembled(self, began: float, ended: float) -> None:
        """The resources were made between these times."""
        self._note("assemble", began, ended, {})

    def published(self, attributes: Mapping[str, str | int], types: Mapping[str, str], began: float) -> None:
        """A group is served a snapshot from now on; handing it over began at that time.

        `attributes` tell which one, among them its `group`; `types` are the types that changed, with their versions.
        """
        if not self._span.is_recording():
            return
        for url, version in types.items():
            self._traces._remember((str(attributes["group"]), url, version), self._span)
        self._note("publish", began, time.monotonic(), attributes)

    def _note(self, name: str, began: float, ended: float, attributes: Mapping[str, AttributeValue]) -> None:
        span = self._traces._begin(self._tracer, name, self._span, began, attributes)
        span.end(self._traces._at(ended))


def from_environment(version: str, environment: Mapping[str, str]) -> Traces:
    """Traces as the environment configures them; `version` is told as `service.version`."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return Traces()
    if not any(environment.get(name) for name in _ENDPOINTS):
        return Traces()
    # It costs a process 0.1 s of CPU.
    from opentelemetry.exporter.otlp.json.http.trace_exporter import (  # noqa: PLC0415 - only with a collector
        OTLPSpanExporter,
    )

    resource = Resource.create({"service.name": "tidegate", "service.version": version})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
