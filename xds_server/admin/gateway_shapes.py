"""The shapes of the answers about gateways and observers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from xds_server.admin.shapes import Stamp
from xds_server.admin.switch_shapes import Switches

Number = Annotated[int | float | None, Meta(description="null where it is not known, or there is none")]
"""A lag or another value; whole where it is a whole number."""


class Condition(Struct, rename="camel"):
    """A condition in Kubernetes' shape (`metav1.Condition`). `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int
    last_transition_time: Stamp


class GatewayStatus(Struct, rename="camel"):
    """The `status` of a DynamicGateway. `phase` is Pending, Ready, Degraded or Failed."""

    observed_generation: int
    phase: str
    conditions: list[Condition]
    kafka_lag: Annotated[dict[str, Number], Meta(description="By consumer group; null where the lag is unknown")]
    last_applied_hash: Annotated[str, Meta(description="Of all that is made of the gateway")]
    last_acked_version: Annotated[
        str | None,
        Meta(description="The last version of its group that every connected Envoy had; null before the first"),
    ]
    last_error: str | None


class GatewayRoute(Struct):
    """A route: where it leads now (primary, degraded, fail_open or rejected), why, and since when.

    `backend` is `namespace/service:port`. `lag`, the threshold and what follows are null where the route watches nothing.
    `lag` is the value that is watched, be it lag or that of a query. It is null, too, where it is unknown: `unknown` says why,
    `last_lag` is the last known one, `age_s` its age.
    """

    name: str
    decision: str
    reason: str
    since: Stamp
    lag: Number
    threshold: Number
    backend: str | None
    unknown: str | None
    last_lag: Number
    age_s: float | None
    recover: Number
    watches: Annotated[str | None, Meta(description="The observer and the key of what is watched, see /v1/observers")]
    state: Annotated[str | None, Meta(description="What the observer says of it: ok, stalled, no offset yet, …")]
    verdict: Annotated[str | None, Meta(description="What is concluded of the value: normal or over")]
    max_qps: Annotated[
        Number, Meta(description="Requests a second that all Envoys together let through; null: no limit")
    ]
    share: Annotated[float | None, Meta(description="The part of max_qps that each Envoy has; null without a limit")]
    served: Annotated[
        bool, Meta(description="Whether the decision is in force; else it is what would be, and Programmed says why")
    ]
    held: Annotated[bool, Meta(description="The breaker on degradation holds the verdict: it does not count")]


class Gateway(Struct):
    """A gateway with its status and its routes."""

    namespace: str
    name: str
    group: str
    generation: int
    status: GatewayStatus
    routes: list[GatewayRoute]


class Gateways(Struct):
    """Gateways, by namespace and name, and the switches that are set above them."""

    gateways: list[Gateway]
    switches: Switches


class Observed(Struct):
    """What an observer knows of one thing that routes watch.

    `value` is null where it is unknown, and `unknown` says why; `sampled` is when it was taken last. `breaker` is
    closed, open or half_open. `routes` counts the routes that watch it. `detail` says in full why the last
    sample failed, or what the target remarked on it.
    """

    name: str
    key: str
    value: Number
    unknown: str | None
    sampled: Stamp | None
    age_s: float | None
    state: str
    breaker: str
    routes: int
    detail: str


class Observers(Struct):
    """All that is watched, by observer and key."""

    observers: list[Observed]
