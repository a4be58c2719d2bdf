"""The gate before the closure: what changed goes through when a real Envoy takes it, or when none can be asked.

It runs in the worker thread of the assembly, so one round waits for it, and the event loop never does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

import structlog
from cachetools import LRUCache

from xds_server.snapshot.preflight.envoy import UnavailableError
from xds_server.snapshot.preflight.search import examine, in_order
from xds_server.snapshot.snapshot import LeftOut
from xds_server.translate.inline import inline, told
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT, ROUTE, SECRET

Key = tuple[str, str]
"""(type URL, name)."""

REASON = "RefusedByEnvoy"

_REFUSED = "Envoy refuses it: {}; its last good content stays, if there is one"
_ENDING = "it was not checked before the process ended"

_AT_ONCE = 1000
"""Resources that are asked about in one go; between goes the time is looked at."""

_REMEMBERED = 100_000
"""Verdicts that are kept."""

_AWAY = 30.0
"""Seconds for which nothing is asked after there was no verdict, so that an outage delays nobody again and again."""

_log = structlog.get_logger()


class Checker(Protocol):
    """A real Envoy, or what stands for one."""

    def ask(self, bootstrap: bytes, timeout: float) -> str | None:
        """Envoy's words if it refuses; raises UnavailableError without a verdict."""

    def close(self) -> None:
        """End what runs."""


class Preflight:
    """Remembers verdicts by content; `meter` is told each outcome and the seconds that it took."""

    def __init__(
        self,
        checker: Checker,
        timeout: float,
        meter: Callable[[str, float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Have `checker` asked, for at most `timeout` seconds in each round of a group."""
        self._checker = checker
        self._timeout = timeout
        self._meter = meter
        self._clock = clock
        self._verdicts: LRUCache[bytes, str] = LRUCache(_REMEMBERED)
        self._away_until = 0.0
        self._is_closed = False

    def close(self) -> None:
        """End what runs. From now on nothing new goes through: what is stored as last good must have been checked."""
        self._is_closed = True
        self._checker.close()

    def refused(
        self, group: str, changed: Mapping[Key, Resource | None], before: Callable[[str, str], Resource | None]
    ) -> dict[Key, LeftOut]:
        """What of the changes of a group must not be taken over; `before` gives what is declared without them."""
        look = _Round(changed, before)
        self._recall(look)
        if look.unknown:
            started = self._clock()
            outcome = self._ask(group, look, started)
            self._meter(outcome, self._clock() - started)
        return look.refused

    def _recall(self, look: _Round) -> None:
        """What is known already, by content; it is gone through from below, since what is refused is not put in."""
        for resource in look.candidates():
            verdict = self._verdicts.get(look.mark(resource))
            if verdict is None:
                look.unknown.append(resource)
            elif verdict:
                look.leave_out(resource, _REFUSED.format(verdict))

    def _ask(self, group: str, look: _Round, started: float) -> str:
        if started < self._away_until:
            return "skipped"
        end = started + self._timeout
        ask = lambda some: self._checker.ask(inline(some, look.find).body, end - self._clock())  # noqa: E731
        try:
            for start in range(0, len(look.unknown), _AT_ONCE):
                some = look.unknown[start : start + _AT_ONCE]
                for refusal in examine(some, ask):
                    resource, words = refusal.resource, told(refusal.words, refusal.resource)
                    self._verdicts[look.mark(resource)] = words
                    look.leave_out(resource, _REFUSED.format(words))
                self._note_good(look, some)
        except UnavailableError as error:
            if self._is_closed:
                for resource in look.unknown:
                    look.leave_out(resource, _ENDING)
                return error.outcome
            self._away_until = self._clock() + _AWAY
            _log.warning("preflight_unavailable", group=group, error=str(error), hint="served without a check")
            return error.outcome
        return "refused" if look.refused else "accepted"

    def _note_good(self, look: _Round, some: Sequence[Resource]) -> None:
        for resource in some:
            if (resource.type_url, resource.name) not in look.refused:
                self._verdicts[look.mark(resource)] = ""


class _Round:
    """The changes of one group in one round."""

    def __init__(self, changed: Mapping[Key, Resource | None], before: Callable[[str, str], Resource | None]) -> None:
        self.refused: dict[Key, LeftOut] = {}
        self.unknown: list[Resource] = []
        self._changed = changed
        self._before = before

    def candidates(self) -> list[Resource]:
        """What is to be looked at, what is referred to first."""
        return in_order(each for key, each in self._changed.items() if each is not None and self._is_news(key, each))

    def find(self, url: str, name: str) -> Resource | None:
        """What a name stands for once the changes are taken over, but for those that are refused."""
        key = (url, name)
        is_new = key in self._changed and key not in self.refused
        found = self._changed[key] if is_new else self._before(url, name)
        return found if found is not None and found.is_known else None

    def leave_out(self, resource: Resource, message: str) -> None:
        """Have a change not taken over."""
        found = LeftOut(resource.type_url, resource.name, REASON, message, resource.origins)
        self.refused[resource.type_url, resource.name] = found

    def mark(self, resource: Resource) -> bytes:
        """A digest of a resource and of what is put into it."""
        digest = blake2b(digest_size=16)
        for each in (resource, *self._within(resource)):
            digest.update(f"{each.type_url}\0{each.name}\0{each.version}\0".encode())
        return digest.digest()

    def _within(self, resource: Resource) -> Iterator[Resource]:
        for key in _needs(resource):
            found = self.find(*key)
            if found is not None:
                yield found
                yield from self._within(found)

    def _is_news(self, key: Key, resource: Resource) -> bool:
        """Other content than before; but endpoints of an assignment that is there already never wait for a check."""
        old = self._before(*key)
        if not resource.is_known:
            return False
        return old is None or (key[0] != ENDPOINT and old.version != resource.version)


def _needs(resource: Resource) -> list[Key]:
    """What is put into a resource: clusters are not, routes only name them."""
    refs = resource.refs
    pairs = ((SECRET, refs.secrets), (ENDPOINT, refs.assignments), (ROUTE, refs.routes))
    return [(url, name) for url, names in pairs for name in sorted(names)]
