"""The five requests that lag needs, and what their answers mean: error codes become errors, whole or by partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from aiokafka.errors import for_code
from aiokafka.protocol.admin import ListGroupsRequest
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from observers.kafka_lag.connections import Address
from observers.sampler import TargetError

LATEST = -1
EARLIEST = -2

UNKNOWN_TOPIC, INVALID_TOPIC = 3, 17
DENIED = {29: "topic", 30: "group", 31: "cluster"}
MOVING = {14, 15, 16}
"""The group's coordinator is loading, not there yet, or another one (Kafka's protocol guide, "Error Codes")."""


class Partition(NamedTuple):
    """One partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.number}]"


class RefusedError(TargetError):
    """A broker answered with an error code."""

    def __init__(self, code: int, what: str) -> None:
        """`what` was asked for."""
        error = for_code(code)
        words = getattr(error, "description", None) or getattr(error, "message", None) or error.__name__
        super().__init__("denied" if code in DENIED else "refused", f"{what}: {words.rstrip('.')} (code {code})")
        self.code = code


@dataclass(frozen=True, slots=True)
class Metadata:
    """`topics`: where the leader of each partition is, None for none; `refused`: topics that were named in vain."""

    brokers: tuple[Address, ...]
    topics: Mapping[str, Mapping[int, Address | None]]
    refused: Mapping[str, RefusedError]


class Asking(Protocol):
    """`Connections.ask`."""

    async def __call__(self, address: Address, request: Any) -> Any:
        """The broker's answer, or TargetError."""


async def metadata(ask: Asking, address: Address, topics: Sequence[str] | None) -> Metadata:
    """The brokers, and these topics or all. No topic is created by asking, whatever the broker's settings.

    Raises:
        TargetError: it could not be asked, or the broker knows of no broker yet.
    """
    answer = await ask(address, MetadataRequest(topics, allow_auto_topic_creation=False))
    nodes: dict[int, Address] = {node: (host, port) for node, host, port, *_ in answer.brokers}
    if not nodes:
        raise TargetError("unreachable", f"{address[0]}:{address[1]} names no broker yet")
    found: dict[str, dict[int, Address | None]] = {}
    refused = {}
    for code, topic, _, partitions in answer.topics:
        if code:
            refused[topic] = RefusedError(code, f"topic {topic}")
        else:
            found[topic] = {number: nodes.get(leader) for _, number, leader, *_ in partitions}
    return Metadata(tuple(nodes.values()), found, refused)


async def coordinator(ask: Asking, address: Address, group: str) -> Address:
    """The broker that keeps the group's commits.

    Raises:
        TargetError: it could not be asked, or (RefusedError) there is none.
    """
    answer = await ask(address, FindCoordinatorRequest(group, 0))
    if answer.error_code:
        raise RefusedError(answer.error_code, f"coordinator of group {group}")
    return answer.host, answer.port


async def commits(
    ask: Asking, address: Address, group: str, partitions: Iterable[Partition] | None
) -> dict[Partition, int | None]:
    """The group's committed offsets, None for none: of these partitions, or of all that it has committed.

    Raises:
        TargetError: it could not be asked, or (RefusedError) as a whole or for a partition. A partition that was named and
            is not in the answer is an error too, since nothing is known of it.
    """
    named = None if partitions is None else _by_topic((each, ()) for each in partitions)
    request = None if named is None else [(topic, [number for (number,) in some]) for topic, some in named]
    answer = await ask(address, OffsetFetchRequest(group, request))
    if code := getattr(answer, "error_code", 0):
        raise RefusedError(code, f"commits of group {group}")
    found: dict[Partition, int | None] = {}
    for topic, some in answer.topics:
        for number, offset, _, code in some:
            if code:
                raise RefusedError(code, f"commit of group {group} to {topic}[{number}]")
            found[Partition(topic, number)] = offset if offset >= 0 else None
    for topic, some in named or ():
        for (number,) in some:
            if (topic, number) not in found:
                raise TargetError("error", f"commits of group {group}: the answer leaves out {topic}[{number}]")
    return found


async def offsets(
    ask: Asking, address: Address, partitions: Iterable[Partition], when: int, *, read_committed: bool
) -> dict[Partition, int | TargetError]:
    """Where these partitions, which the broker leads, begin (`EARLIEST`) or end (`LATEST`); errors by partition.

    Raises:
        TargetError: it could not be asked.
    """
    wanted = _by_topic((each, (when,)) for each in partitions)
    answer = await ask(address, OffsetRequest(-1, int(read_committed), wanted))
    found: dict[Partition, int | TargetError] = {}
    for topic, some in answer.topics:
        for number, code, _, offset in some:
            found[Partition(topic, number)] = RefusedError(code, f"{topic}[{number}]") if code else offset
    return found


async def groups(ask: Asking, address: Address) -> set[str]:
    """The groups that the broker coordinates, as far as their names may be seen.

    Raises:
        TargetError: it could not be asked, or (RefusedError) its coordinator is loading.
    """
    answer = await ask(address, ListGroupsRequest())
    if answer.error_code:
        raise RefusedError(answer.error_code, "list of groups")
    return {group for group, *_ in answer.groups}


def _by_topic(partitions: Iterable[tuple[Partition, tuple[int, ...]]]) -> list[tuple[str, list[tuple[int, ...]]]]:
    topics: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for (topic, number), more in partitions:
        topics[topic].append((number, *more))
    return list(topics.items())
