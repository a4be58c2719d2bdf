"""What joins observers, the judge and the status of gateways with each other and with the way of configuration."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import structlog

from observers.base import Observer
from observers.judge import Judge
from xds_server.app.observing import run_observer
from xds_server.derive.outcome import Outcome
from xds_server.ir.facts import Conclusion, FactChanges, Observation, Query, Reading, RouteKey, Verdict
from xds_server.ir.gateway import GatewayKey
from xds_server.snapshot.pipeline import Pipeline
from xds_server.snapshot.seeds import NOTHING_DECLARED
from xds_server.sources.turns import Turns, in_turns
from xds_server.status.brake import Brake
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.gateways import Readings
from xds_server.status.route_memory import RouteMemory

_log = structlog.get_logger()

_LOOK = 1.0
"""Seconds between looks at conditions that may have changed: so exact are the times of their transitions."""


class Watching:
    """Hands watches to the judge, queries to observers, observations to the judge, verdicts to the pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        observers: Sequence[Observer],
        memory: RouteMemory,
        make_book: Callable[[Readings], GatewayBook],
        *,
        brake: Brake,
        touched: Callable[[Collection[RouteKey]], None],
    ) -> None:
        """Begin with the verdicts that are remembered, before the pipeline runs.

        Of two observers of one name the first is asked. `make_book` makes the book, which asks for readings. `touched` is
        told of routes whose `opinion` may be another than before.
        """
        self._pipeline = pipeline
        self._memory = memory
        self._brake = brake
        self._touched = touched
        self._is_settled = False
        self._unremembered: dict[RouteKey, None] = {}
        """Routes of which another verdict was reached than is remembered."""
        self._reached = asyncio.Event()
        self._observers = {each.name: each for each in reversed(observers)}
        self.judge = Judge(
            time.time,
            asyncio.get_running_loop().call_later,
            self._judged,
            self._want,
            self.noted,
            restored=memory.conclusions,
        )
        self.book = make_book(self._reading)
        pipeline.observe(FactChanges(brake.counting(self.judge.verdicts())))
        pipeline.follow(self._derived)

    def opinion(self, route: RouteKey) -> Conclusion | None:
        """What a route goes by here, once anything was known of its value: for other replicas to go by, too."""
        found = self.judge.opinion(route)
        if found is None or not self._brake.holds(route):
            return found
        return replace(found, verdict=Verdict.NORMAL if found.verdict is Verdict.OVER else Verdict.OVER)

    def adopt(self, opinions: Mapping[RouteKey, Conclusion | None]) -> None:
        """Go by what another replica has concluded; None: by our own judgement again."""
        self.judge.pin(opinions)
        held = {route: found.verdict for route, found in opinions.items() if found and self._brake.holds(route)}
        if held:
            self._brake.adopt(held)

    def observations(self) -> list[Observation]:
        """All that is known of what routes watch."""
        found = [each for observer in self._observers.values() for each in observer.observations()]
        return found + [each for each in self.judge.observations() if each.query.observer not in self._observers]

    async def run(self) -> None:
        """Run the observers, and look at conditions, until cancelled; then nothing that happened stays untold."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for observer in self._observers.values():
                    tasks.create_task(run_observer(observer, self.judge.take))
                tasks.create_task(self._keep_remembering())
                await self._follow_conditions()
        finally:
            for _ in self._remember():
                pass
            self.book.close()

    async def _follow_conditions(self) -> None:
        await self._pipeline.synced.wait()
        await in_turns(self.book.begin())
        while True:
            try:
                self._settle()
                self._brake.look()
                await self._look()
            except Exception:  # noqa: BLE001 - a fault of ours must not end what is served
                _log.exception("gateways_not_looked_at")
            await asyncio.sleep(_LOOK)

    async def _look(self) -> None:
        turns = Turns()
        for _ in self.book.look():
            await turns.take()

    async def _keep_remembering(self) -> None:
        while True:
            await self._reached.wait()
            self._reached.clear()
            await in_turns(self._remember())

    def _remember(self) -> Iterator[None]:
        """Remember what is concluded of routes by now: a step for each."""
        while self._unremembered:
            route, _ = self._unremembered.popitem()
            self._memory.conclude(route, self.judge.conclusion(route))
            yield

    def _settle(self) -> None:
        """Forget what was restored of routes that are gone, unless some of what there was can't be read yet."""
        if self._is_settled:
            self._brake.forget_others()
            return
        reasons = {problem.reason for source in self._pipeline.sources() for problem in source.problems}
        if not (self._pipeline.is_waiting or NOTHING_DECLARED in reasons):
            self._is_settled = True
            self._memory.settle()
            self.judge.settled()

    def _derived(self, outcome: Outcome) -> Iterator[None]:
        """Take it in, in steps; no decision is remembered before the verdict that it follows."""
        self.judge.follow(outcome.watches)
        self._touched(outcome.watches.keys())
        yield
        yield from self._remember()
        yield from self.book.take(outcome.reports)

    def _judged(self, verdicts: Mapping[RouteKey, Verdict]) -> None:
        self._unremembered.update(dict.fromkeys(verdicts))
        self._reached.set()
        edited = {route: place for route in verdicts if (place := self._edited_in(route))}
        if edited:
            self._pipeline.observe(FactChanges(edited=edited))
        adopted = {route: verdict for route, verdict in verdicts.items() if self.judge.is_pinned(route)}
        if adopted:
            self._brake.adopt(adopted)
        if len(adopted) < len(verdicts):
            self._brake.take({route: verdict for route, verdict in verdicts.items() if route not in adopted})
        self._touched(verdicts.keys())

    def _edited_in(self, route: RouteKey) -> str:
        """Where the gateway stands whose edit changed a verdict, "" where the value did."""
        if not self.judge.follows_an_edit(route):
            return ""
        origin = self.book.origin(GatewayKey(route.namespace, route.gateway))
        return str(origin) if origin is not None else ""

    def _reading(self, route: RouteKey) -> Reading | None:
        found = self.judge.reading(route)
        return replace(found, held=True) if found is not None and self._brake.holds(route) else found

    def noted(self, routes: Iterable[RouteKey]) -> None:
        """Note that what these routes watch became known or unknown, or is held or is not."""
        found = tuple(routes)
        self.book.noted(found)
        self._touched(found)

    def _want(self, observer: str, queries: Sequence[Query]) -> None:
        found = self._observers.get(observer)
        if found is not None:
            found.want(queries)
            return
        unknown = f"nobody can be asked: observers.{observer} is not configured"
        self.judge.take([Observation(query, None, unknown=unknown, state="not configured") for query in queries])
