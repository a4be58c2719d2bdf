"""Answers of brokers that a sound one does not give when a test wants it: error codes, and parts that are missing."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.metadata import MetadataRequest

from observers.kafka_lag import questions
from observers.kafka_lag.cluster import Cluster
from observers.kafka_lag.connections import Address
from observers.kafka_lag.options import ClusterOptions
from observers.kafka_lag.questions import LATEST, Partition, RefusedError
from observers.sampler import Failure, TargetError, Value
from xds_server.ir.facts import LagQuery

HERE: Address = ("127.0.0.1", 9092)
A0, A1 = Partition("a", 0), Partition("a", 1)
QUERY = LagQuery("default", "g", ("a",))


def answering(answer: Any) -> questions.Asking:
    async def ask(address: Address, request: Any) -> Any:
        assert address == HERE
        return answer

    return ask


async def test_a_named_partition_that_is_missing_in_the_answer_is_an_error_and_no_lack_of_a_commit() -> None:
    some = SimpleNamespace(error_code=0, topics=[("a", [(0, 5, "", 0)])])
    with pytest.raises(TargetError, match=r"commits of group g: the answer leaves out a\[1\]"):
        await questions.commits(answering(some), HERE, "g", [A0, A1])
    assert await questions.commits(answering(some), HERE, "g", None) == {A0: 5}


@pytest.mark.parametrize("code", [14, 15, 16, 30])
async def test_the_code_of_a_whole_answer_is_looked_at(code: int) -> None:
    empty = SimpleNamespace(error_code=code, topics=[])
    for partitions in ([A0], None):
        with pytest.raises(RefusedError) as caught:
            await questions.commits(answering(empty), HERE, "g", partitions)
        assert caught.value.code == code
        assert caught.value.state == ("denied" if code == 30 else "refused")


async def test_the_code_of_one_partition_is_looked_at() -> None:
    answer = SimpleNamespace(error_code=0, topics=[("a", [(0, -1, "", 3)])])
    with pytest.raises(RefusedError, match=r"commit of group g to a\[0\]: .* \(code 3\)"):
        await questions.commits(answering(answer), HERE, "g", [A0])


async def test_an_offset_below_zero_is_no_commit() -> None:
    answer = SimpleNamespace(error_code=0, topics=[("a", [(0, -1, "", 0), (1, 0, "", 0)])])
    assert await questions.commits(answering(answer), HERE, "g", [A0, A1]) == {A0: None, A1: 0}


async def test_one_bad_partition_does_not_take_the_others_down() -> None:
    answer = SimpleNamespace(topics=[("a", [(0, 0, -1, 12), (1, 6, -1, -1)])])
    found = await questions.offsets(answering(answer), HERE, [A0, A1], LATEST, read_committed=False)
    assert found[A0] == 12
    assert isinstance(found[A1], RefusedError)


async def test_a_broker_that_knows_no_broker_yet_is_not_believed() -> None:
    with pytest.raises(TargetError, match="names no broker yet"):
        await questions.metadata(answering(SimpleNamespace(brokers=[], topics=[])), HERE, None)


async def test_topics_are_asked_for_without_creating_them() -> None:
    asked: list[MetadataRequest] = []

    async def ask(address: Address, request: Any) -> Any:
        asked.append(request)
        return SimpleNamespace(brokers=[(1, *HERE, None)], topics=[])

    await questions.metadata(ask, HERE, ["ghost"])
    await questions.metadata(ask, HERE, None)
    assert [each._allow_auto_topic_creation for each in asked] == [False, False]


class Broker:
    """Answers as a broker with one topic does; `commits` and `coordinator` give the next answers."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.commits: list[Callable[[], Any]] = []

    async def ask(self, address: Address, request: Any) -> Any:
        self.calls.append(type(request).__name__.removesuffix("Request"))
        if isinstance(request, MetadataRequest):
            return SimpleNamespace(brokers=[(1, *HERE, None)], topics=[(0, "a", False, [(0, 0, 1)])])
        if isinstance(request, FindCoordinatorRequest):
            return SimpleNamespace(error_code=0, host=HERE[0], port=HERE[1])
        if isinstance(request, OffsetFetchRequest):
            return self.commits.pop(0)() if self.commits else committed(0)
        return SimpleNamespace(topics=[("a", [(0, 0, -1, 10)])])


def committed(code: int) -> Any:
    return SimpleNamespace(error_code=code, topics=[] if code else [("a", [(0, 4, "", 0)])])


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def cluster(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster(ClusterOptions((HERE,)), 3.0, 6)
    monkeypatch.setattr(cluster._connections, "ask", broker.ask)
    return cluster


@pytest.mark.looptime
@pytest.mark.parametrize("codes", [(16,), (15, 16), (14, 14)])
async def test_a_coordinator_that_moves_or_loads_is_looked_for_again(
    cluster: Cluster, broker: Broker, codes: tuple[int, ...]
) -> None:
    broker.commits = [lambda code=code: committed(code) for code in codes]  # type: ignore[misc]
    assert await cluster.ask([QUERY]) == {QUERY: Value(6, 6)}
    assert broker.calls.count("FindCoordinator") == len(codes) + 1


@pytest.mark.looptime
async def test_a_coordinator_that_does_not_come_is_a_failure_of_the_round(cluster: Cluster, broker: Broker) -> None:
    broker.commits = [lambda: committed(16)] * 3
    (found,) = (await cluster.ask([QUERY])).values()
    assert isinstance(found, Failure)
    assert found.state == "refused"
    assert await cluster.ask([QUERY]) == {QUERY: Value(6, 6)}


@pytest.mark.looptime
async def test_no_rights_are_not_asked_for_again_in_haste(cluster: Cluster, broker: Broker) -> None:
    broker.commits = [lambda: committed(30)] * 3
    (found,) = (await cluster.ask([QUERY])).values()
    assert found.state == "denied"
    assert broker.calls.count("OffsetFetch") == 1


async def test_the_coordinator_is_looked_for_once(cluster: Cluster, broker: Broker) -> None:
    for _ in range(3):
        await cluster.ask([QUERY])
    assert (
        broker.calls
        == ["Metadata", "FindCoordinator", "OffsetFetch", "Offset"] + ["Metadata", "OffsetFetch", "Offset"] * 2
    )


async def test_calls_grow_with_groups_and_not_with_queries(cluster: Cluster, broker: Broker) -> None:
    queries = [LagQuery("default", f"g{number % 4}", ("a",)) for number in range(100)]
    await cluster.ask(queries)
    broker.calls.clear()
    await cluster.ask(set(queries))
    assert sorted(broker.calls) == ["Metadata", "Offset", *["OffsetFetch"] * 4]
