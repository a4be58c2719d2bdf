"""Joins the push source to what comes after it: the pipeline, the groups, the audit log, the state directory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.hold import FLOWING
from xds_server.snapshot.pipeline import Pipeline
from xds_server.snapshot.snapshot import Behind, Hold, LeftOut, Snapshot
from xds_server.sources.push.model import Changed, Place, PushedSet, Settled
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import Action
from xds_server.status.state import State
from xds_server.wire.types import key_of

PATIENCE = 2.0
"""Seconds that an answer waits for the pipeline and the disk; what is served does not."""


class PushTies:
    """What the push source needs (`Ties`)."""

    def __init__(self, pipeline: Pipeline, groups: Groups, feed: Feed, audit: Audit, state: State) -> None:
        self._pipeline = pipeline
        self._groups = groups
        self._feed = feed
        self._audit = audit
        self._state = state

    @property
    def restored(self) -> Mapping[Place, PushedSet]:
        """See `Ties.restored`."""
        return self._state.pushed

    def keep(self, changed: Changed) -> None:
        """See `Ties.keep`."""
        self._state.keep(changed)

    def record(self, changed: Changed, actor: str, reason: str) -> None:
        """See `Ties.record`."""
        before = None if changed.before is None else {"version": changed.before}
        after: dict[str, object] | None = None
        if changed.pushed is not None:
            counts = {key_of(url): number for url, number in sorted((+changed.pushed.counts).items())}
            after = {"version": changed.pushed.version, "counts": counts}
        self._audit.record(Action.PUSH, str(changed.place), actor=actor, reason=reason, before=before, after=after)

    async def settled(self, group: str) -> Settled:
        """See `Ties.settled`."""
        is_served = is_stored = False
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._pipeline.settled()
                is_served = True
                await self._state.flushed()
                is_stored = True
        found = self._groups.get(group)
        current = found.current if found is not None and is_served else None
        snapshot = None if current is None else (current.version, current.seq)
        return Settled(snapshot, is_stored if self._state.store is not None else None)

    def problems(self, changed: Changed) -> Sequence[Problem]:
        """See `Ties.problems`."""
        group = self._groups.get(changed.place.group)
        current = group.current if group is not None else None
        found = [] if changed.pushed is None else self._unserved(changed.place, current)
        hold = current.held if current is not None else None
        origin = Origin(self._feed.name, changed.place.owner, namespace=changed.place.group)
        if hold is not None and changed.types - FLOWING:
            found.insert(0, Problem(origin, "Held", _held(changed.place.group, hold)))
        behind = group.behind if group is not None else None
        if behind is not None and (behind.reason == "ReadOnly" or changed.types - FLOWING):
            found.insert(0, Problem(origin, behind.reason, _behind(changed.place.group, behind)))
        return found

    def _unserved(self, place: Place, current: Snapshot | None) -> list[Problem]:
        found = [each for each in self._feed.problems if self._is_of(each, place)]
        told = {(each.reason, each.origin) for each in found}
        for each in current.left_out if current is not None else ():
            problem = _told(each)
            if problem is not None and (problem.reason, problem.origin) not in told and self._is_of(problem, place):
                found.append(problem)
        return found

    def _is_of(self, problem: Problem, place: Place) -> bool:
        origin = problem.origin
        return (origin.source, origin.path, origin.namespace) == (self._feed.name, place.owner, place.group)


def _held(group: str, hold: Hold) -> str:
    at = f"group {group!r} is held at version {hold.to} (seq {hold.seq}) by {hold.by}: {hold.reason}"
    return f"{at}; until it is released, only endpoints and secrets of what is pushed take effect"


def _behind(group: str, behind: Behind) -> str:
    at = f"a switch keeps group {group!r} from version {behind.version}, which is declared ({behind.message})"
    return f"{at}; what is pushed is taken in, and is in force once the switch is taken back"


def _told(left_out: LeftOut) -> Problem | None:
    if not left_out.origins:
        return None
    message = f"{key_of(left_out.type_url)} {left_out.name!r} {left_out.message}"
    return Problem(left_out.origins[0], left_out.reason, message)
