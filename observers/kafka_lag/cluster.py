"""One round of questions to a cluster, for all that is wanted of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Collection, Iterable, Mapping
from typing import TypeVar

from observers.kafka_lag import lag, questions
from observers.kafka_lag.connections import Address, Connections
from observers.kafka_lag.lag import Commits, Found
from observers.kafka_lag.options import ClusterOptions
from observers.kafka_lag.questions import EARLIEST, LATEST, MOVING, Metadata, Partition, RefusedError
from observers.kafka_lag.stall import Stalls
from observers.sampler import Answer, TargetError
from xds_server.ir.facts import LagQuery, Query

T = TypeVar("T")

SHARES = (0.5, 0.75, 0.95)
"""Parts of a round's time after which it must know: the topics; the commits; where partitions begin and end."""

PAUSES = (0.1, 0.2)
"""Seconds before a group whose coordinator moves is asked for again in the same round."""

Offsets = dict[Partition, int | TargetError]


class Cluster:
    """Calls grow with groups and brokers, never with queries.

    A round makes one for topics, one or two for each group, one or two for each broker that leads a partition, and one
    for each broker when some group has committed nothing.
    """

    def __init__(self, options: ClusterOptions, timeout: float, stall_samples: int) -> None:
        """`timeout` (seconds) is what a round may take; nothing is asked yet."""
        self._options = options
        self._timeout = timeout
        self._connections = Connections(options.security, timeout)
        self._brokers: tuple[Address, ...] = ()
        self._good: Address | None = None
        self._coordinators: dict[str, Address] = {}
        self._stalls = Stalls(stall_samples)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._connections)

    async def close(self) -> None:
        """Close all connections, and begin from the start when asked again."""
        self._forget()
        await self._connections.close()

    def _forget(self) -> None:
        self._connections.keep_only(())
        self._brokers, self._good = (), None
        self._coordinators.clear()

    async def ask(self, queries: Collection[Query]) -> Mapping[Query, Answer]:
        """Answer each query within the time of a round. Commits are read before ends, so that lag errs upwards.

        Raises:
            TargetError: no broker answers.
        """
        wanted = [query for query in queries if isinstance(query, LagQuery)]
        start = asyncio.get_running_loop().time()
        first, second, third = (start + share * self._timeout for share in SHARES)
        self._connections.begin()
        metadata, good = await self._metadata(wanted, first)
        commits = await self._commits(wanted, metadata, good, second)
        ends, begins, groups = await self._rest(wanted, commits, metadata, third)
        found = Found(metadata, commits, ends, begins, groups)
        self._stalls.keep_only(wanted)
        return {query: lag.answer(query, found, stalled=self._stalled(query, found)) for query in wanted}

    async def _metadata(self, wanted: Iterable[LagQuery], until: float) -> tuple[Metadata, Address]:
        """From the first broker that answers, and which that was; it is asked first the next time."""
        every = any(not query.topics for query in wanted)
        topics = None if every else sorted({topic for query in wanted for topic in query.topics})
        first = [self._good] if self._good else []
        candidates = list(dict.fromkeys([*first, *self._brokers, *self._options.bootstrap]))
        trouble: list[TargetError] = []
        for left in range(len(candidates), 0, -1):
            address = candidates[-left]
            now = asyncio.get_running_loop().time()
            limit = now + (until - now) / min(left, 2)
            found = await _settle(
                questions.metadata(self._connections.ask, address, topics), limit, f"{address[0]}:{address[1]}"
            )
            if not isinstance(found, TargetError):
                self._brokers, self._good = found.brokers, address
                self._connections.keep_only({*found.brokers, address})
                return found, address
            trouble.append(found)
        self._forget()
        raise TargetError(trouble[-1].state, "; ".join(dict.fromkeys(map(str, trouble))))

    async def _commits(
        self, wanted: Collection[LagQuery], metadata: Metadata, good: Address, until: float
    ) -> dict[LagQuery, Commits | TargetError]:
        """One question for each group; a second one when some queries name topics and others do not."""
        named: dict[str, set[Partition]] = defaultdict(set)
        for query in wanted:
            if query.topics:
                named[query.group].update(lag.partitions(query, {}, metadata))
        asked: dict[tuple[str, bool], Awaitable[Commits | TargetError]] = {}
        for query in wanted:
            key = (query.group, bool(query.topics))
            if key not in asked:
                partitions = sorted(named[query.group]) if query.topics else None
                asked[key] = _settle(
                    self._group(query.group, partitions, good), until, f"commits of group {query.group}"
                )
        answers = dict(zip(asked, await asyncio.gather(*asked.values()), strict=True))
        groups = {query.group for query in wanted}
        self._coordinators = {group: where for group, where in self._coordinators.items() if group in groups}
        return {query: answers[query.group, bool(query.topics)] for query in wanted}

    async def _group(self, group: str, partitions: list[Partition] | None, good: Address) -> Commits:
        """The commits of a group; a coordinator that has moved is looked for anew."""
        if partitions is not None and not partitions:
            return {}
        ask = self._connections.ask
        for pause in (*PAUSES, None):
            try:
                if group not in self._coordinators:
                    self._coordinators[group] = await questions.coordinator(ask, good, group)
                return await questions.commits(ask, self._coordinators[group], group, partitions)
            except TargetError as error:
                self._coordinators.pop(group, None)
                if pause is None or (isinstance(error, RefusedError) and error.code not in MOVING):
                    raise
                await asyncio.sleep(pause)
        raise AssertionError

    async def _rest(
        self,
        wanted: Iterable[LagQuery],
        commits: Mapping[LagQuery, Commits | TargetError],
        metadata: Metadata,
        until: float,
    ) -> tuple[Offsets, Offsets, frozenset[str] | TargetError]:
        """Where partitions end and begin, and which groups there are: each asked once, and only where it is needed."""
        ends: set[Partition] = set()
        begins: set[Partition] = set()
        doubtful = False
        for query in wanted:
            known = commits[query]
            if isinstance(known, TargetError):
                continue
            counted = lag.partitions(query, known, metadata)
            without = {each for each in counted if known.get(each) is None}
            ends.update(counted)
            begins.update(without)
            doubtful |= len(without) == len(counted)
        return await asyncio.gather(
            self._offsets(ends, LATEST, metadata, until),
            self._offsets(begins, EARLIEST, metadata, until),
            self._groups(until) if doubtful else _no_groups(),
        )

    async def _offsets(self, partitions: Iterable[Partition], when: int, metadata: Metadata, until: float) -> Offsets:
        """One question for each leader; one that does not answer costs its own partitions only."""
        led: dict[Address, list[Partition]] = defaultdict(list)
        found: Offsets = {}
        for partition in sorted(partitions):
            leader = metadata.topics[partition.topic][partition.number]
            if leader is None:
                found[partition] = TargetError("unreachable", "it has no leader")
            else:
                led[leader].append(partition)
        ask, committed = self._connections.ask, self._options.read_committed
        answers = await asyncio.gather(
            *(
                _settle(questions.offsets(ask, leader, some, when, read_committed=committed), until, "offsets")
                for leader, some in led.items()
            )
        )
        for some, answer in zip(led.values(), answers, strict=True):
            for partition in some:
                missing = TargetError("error", "the answer leaves it out")
                found[partition] = answer if isinstance(answer, TargetError) else answer.get(partition, missing)
        return found

    async def _groups(self, until: float) -> frozenset[str] | TargetError:
        """All groups; when one broker can't be asked, nothing is known."""
        answers = await asyncio.gather(
            *(
                _settle(questions.groups(self._connections.ask, broker), until, "list of groups")
                for broker in self._brokers
            )
        )
        found: set[str] = set()
        for answer in answers:
            if isinstance(answer, TargetError):
                return answer
            found |= answer
        return frozenset(found)

    def _stalled(self, query: LagQuery, found: Found) -> bool:
        commits = found.commits[query]
        if isinstance(commits, TargetError):
            return False
        counted = lag.partitions(query, commits, found.metadata)
        ends = [found.ends[each] for each in counted]
        known = [end for end in ends if not isinstance(end, TargetError)]
        return len(known) == len(ends) and self._stalls.look(query, commits, sum(known))


async def _settle(asked: Awaitable[T], until: float, what: str) -> T | TargetError:
    """What was asked for, or why it is not known by the time `until` (of the loop's clock)."""
    try:
        async with asyncio.timeout_at(until):
            return await asked
    except TimeoutError:
        return TargetError("timeout", f"{what}: no answer in time")
    except TargetError as error:
        return error
    except Exception as error:  # noqa: BLE001 - an answer of an odd shape costs its own queries, and no others
        return TargetError("error", f"{what}: the answer can't be read ({type(error).__name__}: {error})")


async def _no_groups() -> frozenset[str] | TargetError:
    return frozenset()
