"""What is worth an Event of a DynamicGateway: the transitions from the status that it had to that which it has. Pure.

One for each transition: a status that says the same again is none. docs/kubernetes-status.md has every reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from k8s_source.reconcile.status import NO_NODES, PASSING, Written, condition_of, routes_of
from xds_server.ir.decision import Choice
from xds_server.ir.gateway_status import ACCEPTED, DEGRADED, PROGRAMMED, RESOLVED, Status


class Reason(StrEnum):
    """The reasons of Events."""

    PROGRAMMED = "Programmed"
    NOT_PROGRAMMED = "NotProgrammed"
    REFUSED = "Refused"
    DEGRADED = "Degraded"
    RECOVERED = "Recovered"
    UNDECIDED = "LagUnknown"
    INVALID = "Invalid"
    VALID = "Valid"
    UNRESOLVED = "Unresolved"
    RESOLVED = "Resolved"
    DEPROGRAMMING = "Deprogramming"
    DEPROGRAMMED = "Deprogrammed"
    NOT_DEPROGRAMMED = "NotDeprogrammed"
    WRITE_REFUSED = "WriteRefused"


class Happening(NamedTuple):
    """An Event to be. `action` is a word for what was done, as `events.k8s.io/v1` wants it; warnings want somebody to look."""

    reason: Reason
    note: str
    action: str
    is_warning: bool = False


def happenings(before: Written, after: Written) -> Iterator[Happening]:
    """What happened between two statuses; `before` is empty for a gateway that had none."""
    yield from _problems(before, after, ACCEPTED, (Reason.INVALID, Reason.VALID, "Validate"))
    yield from _problems(before, after, RESOLVED, (Reason.UNRESOLVED, Reason.RESOLVED, "Resolve"))
    yield from _decisions(before, after)
    yield from _programmed(before, after)


def _problems(before: Written, after: Written, kind: str, words: tuple[Reason, Reason, str]) -> Iterator[Happening]:
    was, now = condition_of(before, kind), condition_of(after, kind)
    wrong, right, action = words
    if _is(now, Status.FALSE) and _point(was) != _point(now):
        yield Happening(wrong, f"{now.get('reason')}: {now.get('message')}", action, is_warning=True)
    elif _is(now, Status.TRUE) and _is(was, Status.FALSE):
        yield Happening(right, str(now.get("message")), action)


def _decisions(before: Written, after: Written) -> Iterator[Happening]:
    was, now = condition_of(before, DEGRADED), condition_of(after, DEGRADED)
    message = str(now.get("message"))
    if _is(now, Status.UNKNOWN):
        yield from _undecided(before, after, message)
    elif _point(was) == _point(now):
        return
    elif _is(now, Status.TRUE):
        yield Happening(Reason.DEGRADED, message, "Route", is_warning=True)
    elif _is(now, Status.FALSE) and (_is(was, Status.TRUE) or _leads_elsewhere(before)):
        yield Happening(Reason.RECOVERED, message, "Route")


def _undecided(before: Written, after: Written, message: str) -> Iterator[Happening]:
    """While lag is unknown the condition stays as it is; routes go on to lose backends, and to find them again."""
    was = condition_of(before, DEGRADED)
    if was and not _is(was, Status.UNKNOWN):
        yield Happening(Reason.UNDECIDED, message, "Observe", is_warning=True)
    led, leads = _leads_elsewhere(before), _leads_elsewhere(after)
    if leads and not led:
        yield Happening(Reason.DEGRADED, message, "Route", is_warning=True)
    elif led and not leads:
        yield Happening(Reason.RECOVERED, message, "Route")


def _programmed(before: Written, after: Written) -> Iterator[Happening]:
    was, now = condition_of(before, PROGRAMMED), condition_of(after, PROGRAMMED)
    reason, message = str(now.get("reason")), str(now.get("message"))
    if _is(now, Status.TRUE):
        if not _is(was, Status.TRUE) or was.get("observedGeneration") != now.get("observedGeneration"):
            yield Happening(Reason.PROGRAMMED, message, "Program")
    elif _point(was) != _point(now) and reason == Reason.REFUSED:
        yield Happening(Reason.REFUSED, message, "Program", is_warning=True)
    elif _point(was) != _point(now) and (reason not in PASSING or (reason == NO_NODES and _is(was, Status.TRUE))):
        yield Happening(Reason.NOT_PROGRAMMED, f"{reason}: {message}", "Program", is_warning=True)


def _is(condition: Written, status: Status) -> bool:
    return condition.get("status") == status.value


def _point(condition: Written) -> tuple[object, object]:
    """What of a condition makes another one of it."""
    return condition.get("status"), condition.get("reason")


def _leads_elsewhere(status: Written) -> bool:
    return any(each.get("decision") != Choice.PRIMARY.value for each in routes_of(status))
