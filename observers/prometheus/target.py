"""One round of questions to a Prometheus: each query once, a few at a time, within the time of a round."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping

from observers.prometheus.api import Api, Asked
from observers.prometheus.options import Credentials, Login, Options
from observers.sampler import Answer, Failure, TargetError
from xds_server.ir.facts import Query, ValueQuery

SHARE = 0.95
"""The part of a round's time after which its last answer must be there."""

_EARLY = 0.8
"""A query that begins with this part of a round's time before it has its time, whatever becomes of it."""


class Target:
    """Calls grow with queries, never with routes. While nothing answers there is one call for each round.

    Queries that were not asked for longest come first, so that none is left out for ever where time is short.
    """

    def __init__(self, options: Options, timeout: float) -> None:
        """`timeout` (seconds) is what a round may take; nothing is asked yet."""
        self._concurrency = options.concurrency
        self._timeout = timeout
        self._credentials = Credentials(options)
        self._api = Api(options)
        self._asked: dict[ValueQuery, float] = {}
        self._is_away = False
        self._alone_until = 0.0

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def ask(self, queries: Collection[Query]) -> Mapping[Query, Answer]:
        """Answer each query within the time of a round.

        Raises:
            TargetError: the query API answers none of them.
        """
        now = asyncio.get_running_loop().time()
        if now < self._alone_until:
            raise TargetError("busy", "it asked to be left alone for a while (Retry-After)")
        until = now + SHARE * self._timeout
        login = await asyncio.to_thread(self._credentials.read)
        wanted = [query for query in queries if isinstance(query, ValueQuery)]
        self._asked = {query: self._asked.get(query, 0.0) for query in wanted}
        work = _Round(self._api, login, until, sorted(wanted, key=lambda each: (self._asked[each], each)))
        try:
            if self._is_away and wanted:
                await work.probe()
            await work.run(self._concurrency)
        finally:
            self._asked |= dict.fromkeys(work.served, now)
        self._alone_until = asyncio.get_running_loop().time() + work.pause
        self._is_away = not work.is_well
        return work.answers()


class _Round:
    """What is still to be asked, and what came of it."""

    def __init__(self, api: Api, login: Login, until: float, queries: Collection[ValueQuery]) -> None:
        self._api = api
        self._login = login
        self._until = until
        self._waiting = deque(queries)
        self._found: dict[ValueQuery, Asked] = {}
        self._begun = 0
        self._soon = _EARLY * asyncio.get_running_loop().time() + (1 - _EARLY) * until
        self.served: list[ValueQuery] = []
        """Those that had their time; one that began late and was cut short by the end of the round had not."""
        self.is_well = False
        self.pause = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing answers, the server wants to be left alone, or time has run out."""
        time_is_up = asyncio.get_running_loop().time() >= self._until
        return self.pause > 0 or time_is_up or (bool(self._found) and not self.is_well)

    async def run(self, concurrency: int) -> None:
        """Ask, as many at a time, until nothing is left or the round is over."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(concurrency, len(self._waiting))):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while self._waiting and not self.is_over:
            await self.probe()

    async def probe(self) -> None:
        """Ask for the next one."""
        query = self._waiting.popleft()
        self._begun += 1
        if is_early := asyncio.get_running_loop().time() < self._soon:
            self.served.append(query)
        asked = self._found[query] = await self._api.ask(query.query, self._login, self._until)
        if not is_early and asked.answer.state != "timeout":
            self.served.append(query)
        self.is_well |= asked.is_well
        self.pause = max(self.pause, asked.pause)

    def answers(self) -> dict[Query, Answer]:
        """An answer for each query.

        Raises:
            TargetError: the query API answered none.
        """
        if self._found and not self.is_well:
            first = next(iter(self._found.values())).answer
            if isinstance(first, Failure):
                raise TargetError(first.state, first.detail)
        why = Failure("busy", "not asked in this round: the server asked to be left alone (Retry-After)")
        if not self.pause:
            why = Failure("timeout", f"not asked in this round: {self._begun} other queries took all of its time")
        left: dict[Query, Answer] = dict.fromkeys(self._waiting, why)
        return left | {query: asked.answer for query, asked in self._found.items()}
