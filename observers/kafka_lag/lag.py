"""From what a round found to the lag of each query: pure arithmetic, and what to say where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from observers.kafka_lag.questions import INVALID_TOPIC, UNKNOWN_TOPIC, Metadata, Partition
from observers.sampler import Answer, Failure, Nothing, TargetError, Value
from xds_server.ir.facts import LagQuery

OK = "ok"
NO_OFFSET = "no offset yet"
NO_GROUP = "no such group"
NO_TOPIC = "topic not found"
PARTIAL = "partial"
STALLED = "stalled"

Commits = Mapping[Partition, int | None]


class Position(NamedTuple):
    """One partition as a group sees it. `begin` need only be there where nothing is committed."""

    committed: int | None
    begin: int
    end: int

    @property
    def lag(self) -> int:
        """Records between; never negative, since a group may commit after the end was read, or to a longer log."""
        return max(0, self.end - (self.begin if self.committed is None else self.committed))


def total(positions: Iterable[Position]) -> tuple[int, int]:
    """The lag of all partitions, and of those that have a commit."""
    everything = committed = 0
    for each in positions:
        everything += each.lag
        committed += each.lag if each.committed is not None else 0
    return everything, committed


@dataclass(frozen=True, slots=True)
class Found:
    """What one round found. `groups` are the names of all groups, when they were asked for."""

    metadata: Metadata
    commits: Mapping[LagQuery, Commits | TargetError]
    ends: Mapping[Partition, int | TargetError]
    begins: Mapping[Partition, int | TargetError]
    groups: frozenset[str] | TargetError


def partitions(query: LagQuery, commits: Commits, metadata: Metadata) -> list[Partition]:
    """All partitions that count: of the topics that are named, else of those that the group has commits for."""
    topics = query.topics or sorted({partition.topic for partition in commits})
    return [Partition(topic, number) for topic in topics for number in metadata.topics.get(topic, {})]


def answer(query: LagQuery, found: Found, *, stalled: bool = False) -> Answer:
    """What is to be told of a query."""
    commits = found.commits[query]
    if isinstance(commits, TargetError):
        return Failure(commits.state, str(commits))
    absent = _absent(query, commits, found.metadata)
    if absent is not None:
        return absent
    counted = partitions(query, commits, found.metadata)
    never = all(commits.get(each) is None for each in counted)
    if never and not query.topics:
        return _nothing(query, found.groups)
    positions = _positions(counted, commits, found)
    if isinstance(positions, Failure):
        return positions
    value, committed = total(positions)
    return Value(value, committed, _state(query, positions, found.groups, stalled=stalled))


def _absent(query: LagQuery, commits: Commits, metadata: Metadata) -> Answer | None:
    """What is to be told when a topic that counts is not there."""
    for topic in query.topics or sorted({partition.topic for partition in commits}):
        if topic in metadata.topics:
            continue
        refused = metadata.refused.get(topic)
        if refused is not None and refused.code not in (UNKNOWN_TOPIC, INVALID_TOPIC):
            return Failure(refused.state, str(refused))
        return Nothing(NO_TOPIC, f"topic {topic} is not there, or may not be described")
    return None


def _nothing(query: LagQuery, groups: frozenset[str] | TargetError) -> Answer:
    """No topic is named, and the group has commits for none: what does the list of groups say?"""
    if isinstance(groups, TargetError):
        return Failure(PARTIAL, f"group {query.group} has no commits, and whether it exists is not known: {groups}")
    if query.group in groups:
        return Nothing(NO_OFFSET, f"group {query.group} has committed nothing, and no topic is named")
    return Nothing(NO_GROUP, f"there is no group {query.group}, and no topic is named")


def _positions(counted: Iterable[Partition], commits: Commits, found: Found) -> list[Position] | Failure:
    positions = []
    for partition in counted:
        committed, end = commits.get(partition), found.ends[partition]
        begin = found.begins[partition] if committed is None else 0
        if isinstance(end, TargetError) or isinstance(begin, TargetError):
            why = end if isinstance(end, TargetError) else begin
            return Failure(PARTIAL, f"{partition} can't be counted: {why}")
        positions.append(Position(committed, begin, end))
    return positions


def _state(query: LagQuery, positions: list[Position], groups: frozenset[str] | TargetError, *, stalled: bool) -> str:
    if all(each.committed is None for each in positions):
        gone = not isinstance(groups, TargetError) and query.group not in groups
        return NO_GROUP if gone else NO_OFFSET
    if stalled:
        return STALLED
    return NO_OFFSET if any(each.committed is None for each in positions) else OK
