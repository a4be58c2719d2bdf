"""The status of a DynamicGateway as it should be on the API server, and how far what is there differs. Pure.

What is there counts: a moment is kept as long as that of which it tells stays, so that neither a restart nor another
replica, which began to look later, writes anything. Whatever is said passes the API server: words are cut to its bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import IntEnum

import msgspec

from k8s_source.kinds.gateway_status import (
    MOST_MESSAGE,
    MOST_REASON,
    MOST_ROUTES,
    ConditionStatus,
    DynamicGatewayStatus,
    RouteStatus,
)
from xds_server.ir.decision import Choice
from xds_server.ir.gateway_status import (
    ACCEPTED,
    DEGRADED,
    PROGRAMMED,
    READY,
    RESOLVED,
    Condition,
    Envoys,
    GatewayState,
    Phase,
    RouteState,
    Status,
)

Written = Mapping[str, object]
"""A status as the API server has it: plain values, of which nothing is sure."""

NOTHING: Written = {}

NO_NODES = "NoNodes"
PASSING = ("Pending", "NotPublished", "ReplicaUnknown", NO_NODES)
"""Reasons of `Programmed` with which nothing is wrong: Envoys are on their way."""

_WITHDRAWN = "it is not served: it is being deleted, or no Tidegate selects it any more"
_CUT = "…"
_MOST_ERROR = 4_096
"""Bytes of `lastError`; the conditions say more."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Difference(IntEnum):
    """How far two statuses differ, and so when the newer one is to be written.

    `VERSION` is that of the group alone: others of the group have changed, or endpoints. `NUMBERS` move all the time: lag,
    words around it. `COUNTS` are of Envoys, which come and go.
    `PASSING` is what may be over in a moment: a version that not all Envoys have yet, a value that is not known. `SAID` is
    everything else.
    """

    NONE = 0
    VERSION = 1
    NUMBERS = 2
    COUNTS = 3
    PASSING = 4
    SAID = 5


def read(raw: bytes) -> Written:
    """The status that an object has; nothing where that is none."""
    try:
        found = msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return NOTHING
    return found if isinstance(found, dict) else NOTHING


def wanted(state: GatewayState, now: Written) -> DynamicGatewayStatus:
    """The status of a gateway; `now` is that which its object has."""
    status = state.status
    known = _by(now.get("conditions"), "type")
    acked = status.last_acked_version or _text(now.get("lastAckedVersion"))
    return DynamicGatewayStatus(
        observed_generation=status.observed_generation,
        phase=status.phase,
        envoys=counts(state.envoys),
        conditions=tuple(_condition(each, state, known.get(each.type, NOTHING)) for each in status.conditions),
        last_applied_hash=status.last_applied_hash,
        routes=_routes(state.routes, _by(now.get("routes"), "name")),
        kafka_lag={group: _number(lag) for group, lag in sorted(status.kafka_lag.items())[:MOST_ROUTES]},
        last_acked_version=acked or None,
        last_error=_cut(status.last_error, _MOST_ERROR) or None,
    )


def withdrawn(generation: int, now: Written, at: float) -> Written:
    """The status of an object that is served no more and stays nevertheless; nobody keeps it true from then on.

    An API server does not take a status of which nothing is left: it makes null of it, which is no object.
    """
    reasons = {PROGRAMMED: "Withdrawn", READY: "NotProgrammed"}
    conditions = [
        {
            "type": kind,
            "status": Status.FALSE.value,
            "observedGeneration": generation,
            "lastTransitionTime": _since(condition_of(now, kind), Status.FALSE, at),
            "reason": reason,
            "message": _WITHDRAWN,
        }
        for kind, reason in reasons.items()
    ]
    return {"observedGeneration": generation, "phase": Phase.PENDING.value, "conditions": conditions}


def plain(status: DynamicGatewayStatus) -> dict[str, object]:
    """A status as the API server has it."""
    return msgspec.json.decode(msgspec.json.encode(status), type=dict[str, object])


def difference(now: Written, then: Written) -> Difference:
    """How far a status that is there differs from one that should be. Conditions that are not ours count nothing."""
    if _said(now, then) != _said(then, then):
        return Difference.PASSING if _is_passing(now, then) else Difference.SAID
    if now.get("envoys") != then.get("envoys"):
        return Difference.COUNTS
    if _numbers(now, then) != _numbers(then, then):
        return Difference.NUMBERS
    return Difference.NONE if _version(now) == _version(then) else Difference.VERSION


def counts(envoys: Envoys) -> str:
    """How many Envoys have accepted all, of how many: `3/3`; `3/3?` where not every replica has told of its own."""
    return f"{envoys.accepted}/{envoys.connected}" + ("?" if envoys.unheard else "")


def summary(status: Written) -> dict[str, object]:
    """A status in short, for the audit log."""
    conditions = _by(status.get("conditions"), "type")
    told = {kind: f"{each.get('status')} {each.get('reason')}" for kind, each in conditions.items()}
    names = ("observedGeneration", "phase", "envoys", "kafkaLag")
    return {name: status[name] for name in names if name in status} | {"conditions": told}


def moment(at: float) -> str:
    """POSIX seconds as Kubernetes writes times: RFC 3339, whole seconds, UTC."""
    return f"{datetime.fromtimestamp(int(at), UTC).isoformat()[:-6]}Z"


def condition_of(status: Written, kind: str) -> Written:
    """One condition of a status that is there, nothing where it has none."""
    return _by(status.get("conditions"), "type").get(kind, NOTHING)


def routes_of(status: Written) -> Sequence[Written]:
    """The routes of a status that is there."""
    return tuple(_by(status.get("routes"), "name").values())


def _condition(condition: Condition, state: GatewayState, now: Written) -> ConditionStatus:
    return ConditionStatus(
        type=condition.type,
        status=condition.status,
        observed_generation=state.status.observed_generation,
        last_transition_time=_since(now, condition.status, state.moved[condition.type]),
        reason=fit_reason(condition.reason),
        message=_cut(condition.message, MOST_MESSAGE),
    )


def _since(now: Written, status: Status, at: float) -> str:
    """The moment of a condition that is `now` something: that which it has while it stays so, else `at`."""
    stays = now.get("status") == status.value and _is_moment(now.get("lastTransitionTime"))
    return str(now["lastTransitionTime"]) if stays else moment(at)


def _routes(routes: Sequence[RouteState], known: Mapping[str, Written]) -> tuple[RouteStatus, ...]:
    """The routes; of too many first those that do not lead to their primary backends."""
    if len(routes) > MOST_ROUTES:
        routes = sorted(routes, key=lambda each: each.decision == Choice.PRIMARY)
    return tuple(_route(each, known.get(each.name, NOTHING)) for each in routes[:MOST_ROUTES])


def _route(route: RouteState, now: Written) -> RouteStatus:
    backend = route.backend or None
    stays = (now.get("decision"), now.get("backend")) == (route.decision, backend) and _is_moment(now.get("since"))
    return RouteStatus(
        name=route.name,
        decision=Choice(route.decision),
        reason=route.reason,
        since=str(now["since"]) if stays else moment(route.since),
        backend=backend,
    )


def _said(status: Written, then: Written) -> object:
    """What is to be written at once, as far as `then` has its like."""
    ours = _by(then.get("conditions"), "type")
    return _declared(status), status.get("phase"), {kind: _point(condition_of(status, kind)) for kind in ours}


def _declared(status: Written) -> object:
    """What follows from the object, and where its routes lead."""
    names = ("observedGeneration", "lastAppliedHash", "lastError", "routes")
    return [status.get(name) for name in names], [_point(condition_of(status, kind)) for kind in (ACCEPTED, RESOLVED)]


def _is_passing(now: Written, then: Written) -> bool:
    """Whether nothing was declared or decided anew, and what differs comes and goes by itself."""
    if _declared(now) != _declared(then):
        return False
    programmed, degraded = (_point(condition_of(now, kind)) for kind in (PROGRAMMED, DEGRADED))
    awaits = condition_of(then, PROGRAMMED).get("reason") in PASSING and programmed[0] == Status.TRUE.value
    unknown = condition_of(then, DEGRADED).get("status") == Status.UNKNOWN.value != degraded[0]
    return (awaits or programmed == _point(condition_of(then, PROGRAMMED))) and (
        unknown or degraded == _point(condition_of(then, DEGRADED))
    )


def _point(condition: Written) -> tuple[object, ...]:
    """What of a condition makes another one of it."""
    return tuple(condition.get(name) for name in ("status", "reason", "observedGeneration"))


def _numbers(status: Written, then: Written) -> object:
    ours = _by(then.get("conditions"), "type")
    messages = [condition_of(status, kind).get("message") for kind in ours if not _tells_version(then, kind)]
    return messages, status.get("kafkaLag", {})


def _version(status: Written) -> object:
    return status.get("lastAckedVersion"), condition_of(status, PROGRAMMED).get("message")


def _tells_version(status: Written, kind: str) -> bool:
    """Whether the message of a condition says no more than which version all have."""
    return kind == PROGRAMMED and condition_of(status, kind).get("status") == Status.TRUE.value


def fit_reason(reason: str) -> str:
    """A reason as conditions may have it: letters, digits and underscores, a letter first."""
    kept = re.sub(r"[^A-Za-z0-9_]", "", reason).lstrip("0123456789_")
    return kept[:MOST_REASON] or "Unknown"


def _cut(text: str, most: int) -> str:
    """A text in at most so many bytes of UTF-8, with no half of a character in it."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most:
        return encoded.decode()
    return encoded[: most - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


def _by(things: object, name: str) -> dict[str, Written]:
    """The parts of a list by one of their fields, as far as they are what they should be."""
    found = things if isinstance(things, list) else []
    return {str(each[name]): each for each in found if isinstance(each, dict) and name in each}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_moment(value: object) -> bool:
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None


def _number(value: float | None) -> float | int | None:
    """A value as people count: without a fraction where it has none."""
    return int(value) if value is not None and float(value).is_integer() else value
