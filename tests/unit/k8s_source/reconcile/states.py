"""States of gateways to tell, with what a test does not care about filled in, and any that there could be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from xds_server.ir.decision import Choice
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import (
    ACCEPTED,
    DEGRADED,
    PROGRAMMED,
    READY,
    RESOLVED,
    Condition,
    Envoys,
    GatewayState,
    GatewayStatus,
    Phase,
    RouteState,
    Status,
)
from xds_server.ir.origin import Origin

NOW = 1_700_000_000.0
KEY = GatewayKey("shop", "edge")
ORIGIN = Origin(
    "kubernetes",
    api_version="gateway.tidegate.dev/v1alpha1",
    kind="DynamicGateway",
    namespace="shop",
    name="edge",
    generation=1,
)
TYPES = (ACCEPTED, RESOLVED, DEGRADED, PROGRAMMED, READY)

FINE = {
    ACCEPTED: Condition(ACCEPTED, Status.TRUE, "Accepted", "the object is valid"),
    RESOLVED: Condition(RESOLVED, Status.TRUE, "Resolved", "all that it names is there"),
    DEGRADED: Condition(DEGRADED, Status.FALSE, "AsDeclared", "every route leads to its primary backend"),
    PROGRAMMED: Condition(PROGRAMMED, Status.TRUE, "Programmed", "all 2 Envoys have accepted version 3f9a"),
    READY: Condition(READY, Status.TRUE, "Ready", "every route leads to a healthy backend"),
}
PENDING = Condition(PROGRAMMED, Status.FALSE, "Pending", "1 of 2 Envoys have not accepted all of version 3f9a yet")
NO_NODES = Condition(PROGRAMMED, Status.FALSE, "NoNodes", "no Envoy of group default is connected")
REFUSED = Condition(PROGRAMMED, Status.FALSE, "Refused", "Envoy refuses something: edge-0: no such filter")
UNKNOWN = Condition(DEGRADED, Status.UNKNOWN, "LagUnknown", "route a: the lag of group orders is unknown")
OVER = Condition(DEGRADED, Status.TRUE, "OverThreshold", "route a: degraded (over-threshold)")
INVALID = Condition(ACCEPTED, Status.FALSE, "DuplicateRoute", "spec.routes[1].name: two routes are named a")

PRIMARY = RouteState("a", "primary", "shop/a:80", "healthy", NOW - 60)
ELSEWHERE = RouteState("a", "degraded", "shop/b:80", "over-threshold", NOW - 5)


def state(*conditions: Condition, generation: int = 1, **more: object) -> GatewayState:
    """A gateway's state: all is well but for these conditions; further parts of the state or of its status by name."""
    told = {**FINE, **{each.type: each for each in conditions}}
    status = GatewayStatus(generation, Phase.READY, tuple(told.values()), {}, "f00d", "3f9a", "", 0)
    of_status = {name: more.pop(name) for name in tuple(more) if name in GatewayStatus.__slots__}
    made = GatewayState(
        KEY,
        ORIGIN,
        replace(status, **of_status),  # type: ignore[arg-type]
        dict.fromkeys(TYPES, NOW - 60),
        (PRIMARY,),
        Envoys(2, 2),
        300.0,
    )
    return replace(made, **more)  # type: ignore[arg-type]


_TEXT = st.text(max_size=40) | st.text(st.characters(), min_size=1, max_size=3).map(lambda text: text * 20_000)
_TIMES = st.floats(0, 4_000_000_000)


@st.composite
def states(draw: st.DrawFn) -> GatewayState:
    """Any state, with texts that nobody has made sure of."""
    conditions = tuple(Condition(kind, draw(st.sampled_from(Status)), draw(_TEXT), draw(_TEXT)) for kind in TYPES)
    lag = draw(st.dictionaries(st.text(max_size=5), st.none() | st.floats(0, 2**63), max_size=4))
    status = GatewayStatus(
        draw(st.integers(0, 2**31)),
        draw(st.sampled_from(Phase)),
        conditions,
        lag,
        "f00d",
        draw(st.just("") | _TEXT),
        draw(_TEXT),
        0,
    )
    names = draw(st.lists(st.text(min_size=1, max_size=5), max_size=5, unique=True))
    choices = st.sampled_from([each.value for each in Choice])
    routes = tuple(
        RouteState(name, draw(choices), draw(st.just("") | st.just("shop/a:80")), "x", draw(_TIMES)) for name in names
    )
    count = st.integers(0, 1000)
    envoys = Envoys(draw(count), draw(count), draw(st.integers(0, 2)))
    return GatewayState(KEY, ORIGIN, status, {kind: draw(_TIMES) for kind in TYPES}, routes, envoys, 300.0)
