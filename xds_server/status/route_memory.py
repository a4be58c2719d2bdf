"""What is remembered of routes from one decision to the next, and across restarts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from xds_server.ir.decision import Choice, Decision
from xds_server.ir.facts import Conclusion, RouteKey
from xds_server.snapshot.history.decisions import Kept

Keep = Callable[[RouteKey, Kept | None], None]
"""Has that of a route stored, or nothing of it any more."""

_GOOD = (Choice.PRIMARY, Choice.DEGRADED)
_NOTHING = Kept()


class RouteMemory:
    """Verdicts and decisions by route. All calls belong on the event loop."""

    def __init__(
        self, clock: Callable[[], float], keep: Keep | None = None, restored: Mapping[RouteKey, Kept] | None = None
    ) -> None:
        """Take times from `clock` (POSIX seconds); begin with what was remembered before."""
        self._clock = clock
        self._keep = keep
        self._kept = {route: _not_ahead(kept, clock()) for route, kept in (restored or {}).items()}
        self._unseen = set(self._kept)

    @property
    def conclusions(self) -> dict[RouteKey, Conclusion]:
        """The verdicts that are remembered, for the judge to begin with."""
        return {route: kept.conclusion for route, kept in self._kept.items() if kept.conclusion is not None}

    @property
    def good(self) -> dict[RouteKey, Decision]:
        """Of each route the last decision that led to a healthy backend, for derivation to fall back to."""
        return {route: kept.good for route, kept in self._kept.items() if kept.good is not None}

    def of(self, route: RouteKey) -> Kept:
        """What is remembered of a route."""
        return self._kept.get(route, _NOTHING)

    def conclude(self, route: RouteKey, conclusion: Conclusion | None) -> None:
        """Remember a verdict."""
        kept = self.of(route)
        self._set(route, Kept(conclusion, kept.decision, kept.since, kept.good))

    def decide(self, route: RouteKey, decision: Decision) -> Decision | None:
        """Remember a decision; the one before, None for a route that is new. Another reason alone moves no `since`."""
        self._unseen.discard(route)
        kept = self.of(route)
        before = kept.decision
        if before == decision:
            return before
        stays = before is not None and (before.choice, before.backend) == (decision.choice, decision.backend)
        since = kept.since if stays else self._clock()
        good = decision if decision.choice in _GOOD else kept.good
        self._set(route, Kept(kept.conclusion, decision, since, good))
        return before

    def forget(self, route: RouteKey) -> None:
        """Remember nothing of a route: it is gone."""
        self._unseen.discard(route)
        if self._kept.pop(route, None) is not None and self._keep is not None:
            self._keep(route, None)

    def settle(self) -> None:
        """Forget what was restored of routes that were decided nothing for: all sources have said what there is."""
        for route in tuple(self._unseen):
            self.forget(route)

    def _set(self, route: RouteKey, kept: Kept) -> None:
        if kept == _NOTHING:
            self.forget(route)
            return
        self._kept[route] = kept
        if self._keep is not None:
            self._keep(route, kept)


def _not_ahead(kept: Kept, now: float) -> Kept:
    """What was remembered, with no time that is still to come: the clock was set back meanwhile."""
    conclusion = kept.conclusion
    if conclusion is not None and conclusion.since > now:
        conclusion = replace(conclusion, since=now)
    return replace(kept, conclusion=conclusion, since=min(kept.since, now))
