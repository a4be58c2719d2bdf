"""Push over gRPC, with the real server: the same meaning as over HTTP, each refusal by its status and its details."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import grpc.aio
import pytest
from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.conformance.client import connect
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import Variant
from xds_server.sources.push.rpc import _address, _is_here
from xds_server.wire.gen.tidegate.push.v1 import push_pb2 as pb
from xds_server.wire.types import CLUSTER

pytestmark = pytest.mark.timeout(120)

SERVICE = "tidegate.push.v1.PushService"
REQUESTS = {"Put": pb.PutRequest, "Patch": pb.PatchRequest, "Delete": pb.DeleteRequest, "Get": pb.GetRequest}


class Owner:
    """A program that pushes."""

    def __init__(self, channel: grpc.aio.Channel, owner: str = "billing", token: str = "") -> None:
        self._channel = channel
        self._owner = owner
        self._metadata = [("authorization", f"Bearer {token}")] if token else None

    async def __call__(self, method: str, version: str = "", **fields: Any) -> Any:
        """Call a method of the service for the group `default`."""
        call: Any = self._channel.unary_unary(f"/{SERVICE}/{method}", response_deserializer=pb.PushedSet.FromString)
        more = {"version": version} if version else {}
        request = REQUESTS[method](owner=self._owner, group="default", **more, **fields)
        return await call(request.SerializeToString(), metadata=self._metadata, timeout=20)

    async def refused(self, code: grpc.StatusCode, detail: Any, method: str, version: str = "", **fields: Any) -> Any:
        """The details of a call that is refused with a status."""
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await self(method, version, **fields)
        assert error.value.code() is code, error.value.details()
        trailing = dict(error.value.trailing_metadata() or ())
        if detail is None:
            return error.value.details()
        status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
        assert (status.code, status.message) == (code.value[0], error.value.details())
        assert status.details[0].Unpack(detail)
        return detail


def packed(*names: str, mark: str = "1") -> list[any_pb2.Any]:
    found = []
    for name in names:
        made: Any = any_pb2.Any()
        made.Pack(cluster_pb2.Cluster(name=name, alt_stat_name=f"mark-{mark};"))
        found.append(made)
    return found


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[Restartable]:
    async with restartable(folder, {"sources": [{"kind": "push", "max_sets": 2}], **settings}) as server:
        yield server


async def test_the_four_methods(tmp_path: Path) -> None:
    async with running(tmp_path) as server, connect(server.xds) as channel, server.clients() as clients:
        owner = Owner(channel)
        answer = await owner("Put", "1", resources=packed("a", "b"), lease=duration_pb2.Duration(seconds=60))
        group = await server.get("/v1/groups/default")
        assert (answer.version, answer.changed, dict(answer.counts)) == ("1", True, {"cds": 2})
        assert (answer.snapshot.version, answer.snapshot.seq) == (group["version"], group["seq"])
        assert not answer.HasField("stored"), "there is no state directory"
        assert answer.lease.seconds == 60
        assert answer.expires.seconds > 0
        stream = await clients.stream(Variant.DELTA)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1, "b": 1})
        gone = [pb.ResourceName(type="cds", name="a")]
        await owner("Patch", "2", base="1", resources=packed("b", mark="2"), remove=gone)
        await stream.holding("cds", {"b": 2})
        again = await owner("Put", "2")
        assert (again.changed, again.HasField("lease")) == (False, False)
        assert (await owner("Get")).version == "2"
        assert not (await owner("Delete")).HasField("version")
        await stream.holding("cds", {})
        await owner.refused(grpc.StatusCode.NOT_FOUND, None, "Get")
        await owner.refused(grpc.StatusCode.NOT_FOUND, None, "Delete")


async def test_what_comes_by_grpc_and_by_http_is_one(tmp_path: Path) -> None:
    started = running(tmp_path, state_dir=str(tmp_path / "state"))
    async with started as server, connect(server.xds) as channel, aiohttp.ClientSession() as session:
        first = await Owner(channel)("Put", "1", resources=packed("a"))
        body = {"version": "2", "resources": [{"@type": CLUSTER, "name": "a", "alt_stat_name": "mark-1;"}]}
        url = f"{server.plane.admin}/v1/push/billing/default"
        async with session.put(url, json=body) as response:
            answer = await response.json()
        assert answer["snapshot"] == {"version": first.snapshot.version, "seq": first.snapshot.seq}
        assert (answer["stored"], first.stored) == (True, True)


async def test_refusals(tmp_path: Path) -> None:
    async with running(tmp_path) as server, connect(server.xds) as channel:
        owner, eve = Owner(channel), Owner(channel, "eve")
        await owner("Put", "1", resources=packed("a", "b"))
        wrong = [*packed("c"), any_pb2.Any(type_url="type.googleapis.com/no.Such"), any_pb2.Any(type_url=CLUSTER)]
        found = await owner.refused(
            grpc.StatusCode.INVALID_ARGUMENT, error_details_pb2.BadRequest(), "Put", "2", resources=wrong
        )
        assert [each.field for each in found.field_violations] == ["resources[1].@type", "resources[2].name"]
        assert (await owner("Get")).version == "1"
        conflicts = await eve.refused(
            grpc.StatusCode.ALREADY_EXISTS, pb.Conflicts(), "Put", "1", resources=packed("z", "b")
        )
        assert [(each.type, each.name, each.holder) for each in conflicts.conflicts] == [("cds", "b", "billing")]
        current = await owner.refused(grpc.StatusCode.FAILED_PRECONDITION, pb.Current(), "Patch", "2", base="0")
        assert current.version == "1"
        none = await eve.refused(grpc.StatusCode.FAILED_PRECONDITION, pb.Current(), "Patch", "2", base="0")
        assert not none.HasField("version")
        await eve("Put", "1")
        text = await Owner(channel, "third").refused(grpc.StatusCode.RESOURCE_EXHAUSTED, None, "Put", "1")
        assert "max_sets" in text


async def test_k103_a_push_needs_the_operator_s_token_when_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "operator").write_text("op-token\n")
    (tmp_path / "node").write_text("node-token\n")
    secured = {
        "admin": {"tokens": {"operator": str(tmp_path / "operator")}},
        "xds": {"auth": {"clients": [{"token_file": str(tmp_path / "node"), "groups": ["*"]}]}},
    }
    async with running(tmp_path, **secured) as server, connect(server.xds) as channel:
        for token in ("", "wrong", "node-token"):
            refused = Owner(channel, token=token).refused
            assert "operator's token" in await refused(grpc.StatusCode.UNAUTHENTICATED, None, "Put", "1")
        assert (await Owner(channel, token="op-token")("Put", "1", resources=packed("a"))).changed


async def test_reflection_tells_of_it_and_without_a_push_source_it_is_not_there(
    tmp_path: Path, server: Restartable
) -> None:
    async with connect(server.xds) as channel:
        await Owner(channel).refused(grpc.StatusCode.UNIMPLEMENTED, None, "Put", "1")
        assert SERVICE not in await _listed(channel)
    async with running(tmp_path) as ours, connect(ours.xds) as channel:
        assert SERVICE in await _listed(channel)


async def _listed(channel: grpc.aio.Channel) -> Iterable[str]:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
    answer = await call.read()
    return [each.name for each in answer.list_services_response.service]


@pytest.mark.parametrize(
    ("peer", "is_here"),
    [
        ("ipv4:127.0.0.1:5000", True),
        ("ipv6:%5B::1%5D:5000", True),
        ("ipv6:[::ffff:127.0.0.1]:5000", True),
        ("ipv4:10.0.0.1:5000", False),
        ("ipv6:[2001:db8::1]:5000", False),
        ("unix:/tmp/x", False),
        ("", False),
    ],
)
def test_who_is_on_this_machine(peer: str, is_here: bool) -> None:  # noqa: FBT001 - a parameter
    assert _is_here(_address(peer)) is is_here
