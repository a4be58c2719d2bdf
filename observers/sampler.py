"""Asks one target for all that is wanted of it, at an interval, within a deadline, behind a breaker."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

import structlog

from observers.base import Meter, Report, Sampling
from observers.breaker import Breaker
from observers.cache import Sample, Samples
from xds_server.ir.facts import Observation, Query

NOT_YET = "not sampled yet"
"""The state of a query until its first round is over."""

JITTER = 0.1
"""Rounds come this part of the interval earlier or later, so that processes do not ask in step."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Value:
    """A value, as in `ir.facts.Observation`; `detail` is what the target remarks on it."""

    value: float
    committed: float | None = None
    state: str = "ok"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The target answered, and there is no value: `state` in a word or two, `detail` in full.

    `is_fault`: the answer is of no use, and is counted with what failed.
    """

    state: str
    detail: str
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """This could not be asked of the target: `state` in a word or two, `detail` in full."""

    state: str
    detail: str


Answer = Value | Nothing | Failure


class TargetError(Exception):
    """Nothing could be asked of the target; `state` is a constant word, the text says why."""

    def __init__(self, state: str, detail: str) -> None:
        super().__init__(detail)
        self.state = state


Ask = Callable[[Collection[Query]], Awaitable[Mapping[Query, Answer]]]
"""Answers every query within the deadline it was made for, or raises TargetError, which the breaker counts."""


class Sampler:
    """One target. Rounds do not overlap, and there are as many whatever is wanted."""

    def __init__(
        self,
        observer: str,
        target: str,
        ask: Ask,
        *,
        sampling: Sampling,
        meter: Meter,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`clock` is for ages and `wall` for the times that people see; nothing is asked before `run`."""
        self.target = target
        self._observer = observer
        self._ask = ask
        self._sampling = sampling
        self._meter = meter
        self._clock = clock
        self._wall = wall
        self._wanted: frozenset[Query] = frozenset()
        self._something = asyncio.Event()
        self._breaker = Breaker(sampling.failures, sampling.reset)
        self._samples = Samples(sampling.ttl, clock)
        self._without: dict[Query, Nothing | Failure] = {}
        self._told: dict[Query, Observation] = {}
        self._trouble = ""

    def want(self, queries: Collection[Query]) -> None:
        """Replace what is asked for from the next round on."""
        self._wanted = frozenset(queries)
        self._samples.keep_only(self._wanted)
        self._without = {query: why for query, why in self._without.items() if query in self._wanted}
        self._told = {query: told for query, told in self._told.items() if query in self._wanted}
        if self._wanted:
            self._something.set()
        else:
            self._something.clear()

    def observations(self) -> list[Observation]:
        """What is known now, by key."""
        return sorted((self._observation(query) for query in self._wanted), key=lambda each: str(each.query))

    async def run(self, report: Report) -> None:
        """Go round until cancelled; a target that nothing is wanted of is not asked."""
        while True:
            await self._something.wait()
            began = self._clock()
            if self._breaker.admits():
                self._tell(report)  # that a probe is out
                await self._round(began)
            self._tell(report)
            pause = self._sampling.interval * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
            await asyncio.sleep(max(0.0, began + pause - self._clock()))

    async def _round(self, began: float) -> None:
        sampled, wanted = self._wall(), self._wanted
        try:
            answers, trouble = await self._answers(wanted)
        except asyncio.CancelledError:
            self._breaker.gave_up()
            raise
        self._meter.sampled(self._observer, self.target, self._clock() - began)
        for query, answer in answers.items():
            if query in self._wanted:
                self._take(query, answer, sampled)
        self._judge(trouble)

    async def _answers(self, wanted: frozenset[Query]) -> tuple[Mapping[Query, Answer], str]:
        """The answers, and why the target as a whole could not be asked."""
        try:
            async with asyncio.timeout(self._sampling.timeout):
                return await self._ask(wanted), ""
        except TimeoutError:
            why = Failure("timeout", f"no answer within {self._sampling.timeout:g} s")
        except TargetError as error:
            why = Failure(error.state, str(error))
        except Exception as error:  # noqa: BLE001 - a client library may raise anything; the round ends here
            _log.exception("sampling_failed", observer=self._observer, target=self.target)
            why = Failure("error", f"{type(error).__name__}: {error}")
        return dict.fromkeys(wanted, why), why.detail

    def _take(self, query: Query, answer: Answer, sampled: float) -> None:
        if isinstance(answer, Value):
            self._samples.put(query, Sample(answer.value, answer.committed, sampled, answer.state, answer.detail))
            self._without.pop(query, None)
            return
        if isinstance(answer, Nothing):
            self._samples.drop(query)
        if isinstance(answer, Failure) or answer.is_fault:
            self._meter.sample_failed(self._observer, self.target, answer.state)
        self._without[query] = answer

    def _judge(self, trouble: str) -> None:
        """Tell the breaker, and the log when it is news."""
        if trouble:
            self._breaker.failed()
        else:
            self._breaker.succeeded()
        if trouble and trouble != self._trouble:
            _log.warning("target_not_reached", observer=self._observer, target=self.target, error=trouble)
        elif self._trouble and not trouble:
            _log.info("target_reached_again", observer=self._observer, target=self.target)
        self._trouble = trouble

    def _tell(self, report: Report) -> None:
        now = {each.query: each for each in self.observations()}
        changed = [each for query, each in now.items() if self._told.get(query) != each]
        self._told = now
        if changed:
            report(changed)

    def _observation(self, query: Query) -> Observation:
        sample, why = self._samples.get(query), self._without.get(query)
        if sample is None:
            state = why.state if why else NOT_YET
            detail = why.detail if why else ""
            unknown = detail or state
            return Observation(
                query, None, None, unknown, self._samples.taken(query), state, self._breaker.state, detail
            )
        return Observation(
            query,
            sample.value,
            sample.committed,
            None,
            sample.sampled,
            why.state if why else sample.state,
            self._breaker.state,
            why.detail if why else sample.detail,
        )
