"""Kinds of the API group `gateway.tidegate.dev/v1alpha1`: DynamicGateway. Unknown fields are errors.

This version is the one that the rest of Tidegate knows; `gateway_v1beta1` is read into it. `docs/dynamic-gateway.md` is
the reference.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from k8s_source.kinds.addresses import is_address
from k8s_source.kinds.fault import Fault, refuse
from k8s_source.kinds.fields import Duration, Label, Port, PortName, Subdomain, seconds
from k8s_source.kinds.gateway_fields import (
    Amount,
    Host,
    Lag,
    ListenerPort,
    ListenerProtocol,
    NoCommitPolicy,
    PathType,
    Qps,
    Retries,
    RouteName,
    Samples,
    ServiceName,
    Text,
    Topic,
    path_error,
)
from k8s_source.kinds.meta import Manifest
from k8s_source.kinds.words import found

DEFAULT_CLUSTER = "default"
"""The Kafka cluster of a route that names none."""

DEFAULT_DWELL = "30s"
"""How long a verdict stays at least, where a route says nothing."""


class RouteFields(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What `spec.routes[]` has in every version: what a route matches, and where it leads."""

    name: RouteName
    path: str
    path_type: PathType = PathType.PREFIX
    hosts: tuple[Host, ...] = ()
    backend_service: ServiceName
    degrade_service: ServiceName | None = None
    port: Port | PortName | None = None
    max_qps: Qps | None = None
    timeout: Duration | None = None
    retries: Retries = 0


class RouteSpec(RouteFields, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.routes[]`."""

    kafka_consumer_group: Text | None = None
    kafka_lag_threshold: Lag | None = None
    kafka_topics: tuple[Topic, ...] = ()
    kafka_cluster: Text = DEFAULT_CLUSTER
    no_commit: NoCommitPolicy = NoCommitPolicy.EARLIEST
    prometheus_query: Text | None = None
    threshold: Amount | None = None
    recover_threshold: Amount | None = None
    enter_samples: Samples = 1
    min_dwell: Duration = DEFAULT_DWELL

    def __post_init__(self) -> None:
        """Judge what fields demand of each other.

        Raises:
            FaultsError: They do not go together.
        """
        refuse(_route_faults(self))

    @property
    def limit(self) -> float | None:
        """The threshold, of whatever is watched; None where nothing is."""
        return self.threshold if self.kafka_lag_threshold is None else self.kafka_lag_threshold


class ListenerTls(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.listeners[].tls`."""

    secret_name: Subdomain


class ListenerSpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.listeners[]`."""

    port: ListenerPort
    name: Label | None = None
    protocol: ListenerProtocol = ListenerProtocol.HTTP
    address: str | None = None
    tls: ListenerTls | None = None

    def __post_init__(self) -> None:
        """Judge what fields demand of each other.

        Raises:
            FaultsError: They do not go together.
        """
        refuse(_listener_faults(self))


class PolicySpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec.policy`."""

    full_resync_interval: Duration = "5m"
    fail_open: bool = False
    require_envoy_ack: bool = True

    def __post_init__(self) -> None:
        """Judge the interval.

        Raises:
            FaultsError: It is 0.
        """
        if seconds(self.full_resync_interval) <= 0:
            refuse([Fault("fullResyncInterval", "InvalidValue", "expected a duration of more than 0")])


class DynamicGatewaySpec(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`spec`. Without `listeners` there is one, HTTP on port 8080."""

    routes: tuple[RouteSpec, ...] = ()
    listeners: tuple[ListenerSpec, ...] = ()
    policy: PolicySpec = PolicySpec()


class DynamicGateway(Manifest, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A gateway whose routes follow the facts."""

    spec: DynamicGatewaySpec


def lead_faults(route: RouteFields) -> Iterator[Fault]:
    """What is wrong with the path of a route, and with where it leads."""
    if wrong := path_error(route.path_type, route.path):
        yield Fault("path", "InvalidValue", wrong)
    if route.degrade_service == route.backend_service:
        # Both mean the same port of it, too.
        message = f"expected another Service than backendService, found {found(route.degrade_service, secret=False)}"
        yield Fault("degradeService", "Conflict", message)


def no_way_out() -> Fault:
    """The fault of a route that has a threshold, and no Service that it leads to above it."""
    message = "missing; a route with a threshold needs the Service that it leads to above it"
    return Fault("degradeService", "MissingField", message)


def recover_faults(recover: float | None, limit: float, field: str) -> Iterator[Fault]:
    """What is wrong with a value at which a route comes back, told under `field`."""
    if recover is not None and recover > limit:
        message = f"expected at most the threshold, {limit:.15g}, found {recover:.15g}"
        yield Fault(field, "InvalidValue", message)


def _route_faults(route: RouteSpec) -> Iterator[Fault]:
    yield from lead_faults(route)
    yield from _pair("kafkaConsumerGroup", route.kafka_consumer_group, "kafkaLagThreshold", route.kafka_lag_threshold)
    yield from _pair("prometheusQuery", route.prometheus_query, "threshold", route.threshold)
    if route.kafka_consumer_group is not None and route.prometheus_query is not None:
        message = "kafkaConsumerGroup and prometheusQuery exclude each other: a route watches one of them"
        yield Fault("prometheusQuery", "Conflict", message)
    if route.kafka_topics and route.kafka_consumer_group is None:
        yield Fault("kafkaConsumerGroup", "MissingField", "missing; kafkaTopics are those of a consumer group")
    if route.limit is not None:
        if route.degrade_service is None:
            yield no_way_out()
        yield from recover_faults(route.recover_threshold, route.limit, "recoverThreshold")
    elif route.recover_threshold is not None:
        message = "missing; recoverThreshold needs a threshold (kafkaLagThreshold or threshold)"
        yield Fault("kafkaLagThreshold", "MissingField", message)


def _pair(asked: str, question: str | None, bound: str, limit: float | None) -> Iterator[Fault]:
    """The faults of two fields of which neither means anything without the other."""
    if question is not None and limit is None:
        yield Fault(bound, "MissingField", f"missing; a route with {asked} needs it")
    if question is None and limit is not None:
        yield Fault(asked, "MissingField", f"missing; a route with {bound} needs it")


def _listener_faults(listener: ListenerSpec) -> Iterator[Fault]:
    if listener.protocol is ListenerProtocol.HTTPS and listener.tls is None:
        yield Fault("tls.secretName", "MissingField", "missing; a listener of protocol HTTPS needs a Secret")
    if listener.protocol is ListenerProtocol.HTTP and listener.tls is not None:
        yield Fault("tls", "Conflict", "tls is for protocol HTTPS; this listener has protocol HTTP")
    if listener.address is not None and not is_address(listener.address):
        message = f"expected an IP address such as 127.0.0.1 or ::1, found {found(listener.address, secret=False)}"
        yield Fault("address", "InvalidValue", message)
