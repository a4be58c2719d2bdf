"""Ends the time for which backends that have lost their endpoints are served those which they had."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xds_server.derive.outcome import Outcome
from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import FactChanges

LINGER = 1.0
"""Seconds: routes have led elsewhere long before, and an assignment is empty well within the two that it may take."""

Later = Callable[[float, Callable[[], None]], object]
"""Has a function called after so many seconds (`loop.call_later`)."""


class Draining:
    """Follows backends that linger. All calls belong on the event loop."""

    def __init__(self, later: Later, tell: Callable[[FactChanges], None]) -> None:
        """Tell derivation of those that are drained by `tell`."""
        self._later = later
        self._tell = tell
        self._lingering: dict[BackendKey, object] = {}

    def take(self, outcome: Outcome) -> None:
        """Give those that have lost their endpoints a while; forget those that have endpoints again."""
        mark = object()
        begun = [key for key, lingers in outcome.lingering.items() if lingers]
        for key in outcome.lingering:
            self._lingering.pop(key, None)
        self._lingering.update(dict.fromkeys(begun, mark))
        if begun:
            self._later(LINGER, partial(self._end, begun, mark))

    def _end(self, begun: list[BackendKey], mark: object) -> None:
        """One that had endpoints in between has a while of its own."""
        drained = frozenset(key for key in begun if self._lingering.get(key) is mark)
        if drained:
            self._tell(FactChanges(drained=drained))
