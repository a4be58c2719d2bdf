"""DynamicGateway as `gateway.tidegate.dev/v1beta1` writes it: all that a route watches stands under `lag`.

It is read into the objects of v1alpha1. Unknown fields are errors; `docs/dynamic-gateway.md` is the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from k8s_source.kinds.conversion import V1ALPHA1
from k8s_source.kinds.fault import Fault, refuse
from k8s_source.kinds.fields import EXPECTED, Duration
from k8s_source.kinds.gateway_fields import LARGEST_LAG, Amount, NoCommitPolicy, Samples, Text, Topic
from k8s_source.kinds.gateway_tidegate import (
    DEFAULT_CLUSTER,
    DEFAULT_DWELL,
    DynamicGateway,
    DynamicGatewaySpec,
    ListenerSpec,
    PolicySpec,
    RouteFields,
    RouteSpec,
    lead_faults,
    no_way_out,
    recover_faults,
)
from k8s_source.kinds.meta import Manifest
from k8s_source.kinds.words import found

Threshold = (
    Annotated[int, Meta(ge=0, le=LARGEST_LAG, extra={EXPECTED: "a whole number of messages"})]
    | Annotated[float, Meta(ge=0, le=1e300, extra={EXPECTED: "of a query any number; 0 or more"})]
)


class LagSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.routes[].lag`: what is watched, and how much of it is too much."""

    consumer_group: Text | None = None
    topics: tuple[Topic, ...] = ()
    cluster: Text = DEFAULT_CLUSTER
    no_commit: NoCommitPolicy = NoCommitPolicy.EARLIEST
    prometheus_query: Text | None = None
    threshold: Threshold | None = None
    recover_threshold: Amount | None = None
    enter_samples: Samples = 1
    min_dwell: Duration = DEFAULT_DWELL

    def __post_init__(self) -> None:
        """Judge what fields demand of each other.

        Raises:
            FaultsError: They do not go together.
        """
        refuse(_lag_faults(self))


class RouteSpecV1Beta1(RouteFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.routes[]`."""

    lag: LagSpec | None = None

    def __post_init__(self) -> None:
        """Judge what fields demand of each other.

        Raises:
            FaultsError: They do not go together.
        """
        refuse(_route_faults(self))

    def hub(self) -> RouteSpec:
        """The same as v1alpha1 has it."""
        shared = {name: getattr(self, name) for name in RouteFields.__struct_fields__}
        return RouteSpec(**shared) if self.lag is None else RouteSpec(**shared, **_flat(self.lag))


class DynamicGatewaySpecV1Beta1(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec`. Without `listeners` there is one, HTTP on port 8080."""

    routes: tuple[RouteSpecV1Beta1, ...] = ()
    listeners: tuple[ListenerSpec, ...] = ()
    policy: PolicySpec = PolicySpec()


class DynamicGatewayV1Beta1(Manifest, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A gateway whose routes follow the facts."""

    spec: DynamicGatewaySpecV1Beta1

    def hub(self) -> DynamicGateway:
        """The same as v1alpha1 has it."""
        routes = tuple(each.hub() for each in self.spec.routes)
        spec = DynamicGatewaySpec(routes=routes, listeners=self.spec.listeners, policy=self.spec.policy)
        return DynamicGateway(api_version=V1ALPHA1, kind=self.kind, metadata=self.metadata, spec=spec)


def _flat(lag: LagSpec) -> dict[str, Any]:
    """The fields of a route of v1alpha1; of its two thresholds the one that belongs to what is watched."""
    is_lag = lag.consumer_group is not None and lag.threshold is not None
    bound = {"kafka_lag_threshold": int(lag.threshold or 0)} if is_lag else {"threshold": lag.threshold}
    return bound | {
        "kafka_consumer_group": lag.consumer_group,
        "kafka_topics": lag.topics,
        "kafka_cluster": lag.cluster,
        "no_commit": lag.no_commit,
        "prometheus_query": lag.prometheus_query,
        "recover_threshold": lag.recover_threshold,
        "enter_samples": lag.enter_samples,
        "min_dwell": lag.min_dwell,
    }


def _route_faults(route: RouteSpecV1Beta1) -> Iterator[Fault]:
    yield from lead_faults(route)
    if route.lag is not None and route.lag.threshold is not None and route.degrade_service is None:
        yield no_way_out()


def _lag_faults(lag: LagSpec) -> Iterator[Fault]:
    watched = [name for name, each in _questions(lag) if each is not None]
    if len(watched) > 1:
        message = "consumerGroup and prometheusQuery exclude each other: a route watches one of them"
        yield Fault("prometheusQuery", "Conflict", message)
    if lag.threshold is not None and not watched:
        message = "missing; a threshold is one of a consumerGroup, or of a prometheusQuery"
        yield Fault("consumerGroup", "MissingField", message)
    if lag.topics and lag.consumer_group is None:
        yield Fault("consumerGroup", "MissingField", "missing; topics are those of a consumer group")
    if lag.threshold is None and watched:
        yield Fault("threshold", "MissingField", f"missing; a route with {watched[0]} needs it")
    elif lag.threshold is None and lag.recover_threshold is not None:
        yield Fault("threshold", "MissingField", "missing; recoverThreshold needs a threshold")
    if lag.threshold is not None:
        yield from _whole(lag.consumer_group, lag.threshold)
        yield from recover_faults(lag.recover_threshold, lag.threshold, "recoverThreshold")


def _questions(lag: LagSpec) -> tuple[tuple[str, str | None], ...]:
    return ("consumerGroup", lag.consumer_group), ("prometheusQuery", lag.prometheus_query)


def _whole(group: str | None, threshold: float) -> Iterator[Fault]:
    """The fault of a threshold of lag that is no number of messages."""
    if group is not None and not (threshold == int(threshold) and threshold <= LARGEST_LAG):
        message = f"expected a whole number of messages, 0 or more, found {found(threshold, secret=False)}"
        yield Fault("threshold", "InvalidValue", message)
