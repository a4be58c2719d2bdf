"""The Client Status Discovery Service, asked by a stub as gRPC's and Istio's tools have it, and `/v1/nodes/{id}/config`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc
import pytest
from envoy.admin.v3 import config_dump_shared_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.service.status.v3 import csds_pb2, csds_pb2_grpc
from envoy.type.matcher.v3 import node_pb2, string_pb2, struct_pb2, value_pb2

from tests.conformance.client import accept, hold, refuse
from tests.conformance.documents import marked
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, URLS, Variant, node_of
from xds_server.demo.polling import until
from xds_server.demo.world import certificate_secret

KEY = "-----BEGIN PRIVATE KEY-----\nplanted-in-csds\n-----END PRIVATE KEY-----\n"


async def stub(clients: Clients) -> Any:
    made: Any = csds_pb2_grpc.ClientStatusDiscoveryServiceStub(await clients.channel())
    return made


def exactly(node: str, **more: Any) -> csds_pb2.ClientStatusRequest:
    matcher = node_pb2.NodeMatcher(node_id=string_pb2.StringMatcher(exact=node))
    return csds_pb2.ClientStatusRequest(node_matchers=[matcher], **more)


async def shown(server: Server, node: str) -> dict[tuple[str, str], Any]:
    answer = await server.get(f"/v1/nodes/{node}/config")
    assert answer["id"] == node
    return {(each["type"], each["name"]): each for each in answer["resources"]}


def entries(response: csds_pb2.ClientStatusResponse) -> dict[tuple[str, str], Any]:
    (config,) = response.config
    keys = {url: key for key, url in URLS.items()}
    return {(keys[each.type_url], each.name): each for each in config.generic_xds_configs}


async def refused(server: Server, node: str, key: str) -> None:
    async def nacked() -> bool:
        return bool((await server.node(node))["types"][key]["nacked"])

    await until(nacked, within=10, what="a refusal")


@pytest.mark.parametrize("variant", BOTH)
async def test_each_status_of_a_node(server: Server, clients: Clients, variant: Variant) -> None:
    world = server.world()
    node = f"{world.group}-node"
    world.write("a", marked("cds", "a", 1), marked("lds", "l", 1), marked("rds", "r", 1))
    stream = await clients.stream(variant, world, id=node)
    stream.ask("cds", "*")
    await stream.holding("cds", {"a": 1})
    stream.answer = refuse
    world.write("a", marked("cds", "a", 2), marked("lds", "l", 1), marked("rds", "r", 1))
    await refused(server, node, "cds")
    stream.answer = lambda each, response: (hold if response.key == "lds" else accept)(each, response)
    stream.ask("rds", "ghost")
    stream.ask("lds", "*")
    await stream.until(lambda: stream.names_of("lds") == {"l"}, what="the listener")
    resources = await until(
        partial(_without, server, node, "rds", "ghost"), within=10, what="no ghost, and that is known"
    )
    cluster, listener = resources["cds", "a"], resources["lds", "l"]
    assert (cluster["status"], cluster["error"]) == ("ERROR", "refused by the test")
    assert cluster["sent"] != cluster["accepted"]
    assert (listener["status"], listener["accepted"]) == ("STALE", None)
    assert resources["rds", "ghost"]["status"] == "UNKNOWN"
    found = entries(await (await stub(clients)).FetchClientStatus(exactly(node)))
    assert found.keys() == resources.keys()
    bad = found["cds", "a"]
    assert bad.config_status == csds_pb2.ERROR
    assert bad.client_status == config_dump_shared_pb2.NACKED
    assert bad.version_info == cluster["accepted"]
    assert (bad.error_state.details, bad.error_state.version_info) == ("refused by the test", cluster["sent"])
    has, failed = cluster_pb2.Cluster(), cluster_pb2.Cluster()
    assert bad.xds_config.Unpack(has)
    assert bad.error_state.failed_configuration.Unpack(failed)
    assert (has.alt_stat_name, failed.alt_stat_name) == ("mark-1;", "mark-2;")
    assert bad.last_updated.seconds > 0
    assert found["lds", "l"].config_status == csds_pb2.STALE
    assert found["rds", "ghost"].client_status == config_dump_shared_pb2.DOES_NOT_EXIST


async def test_a_node_that_is_spared_shows_what_it_is_not_sent(server: Server, clients: Clients) -> None:
    world = server.world()
    world.write("a", marked("lds", "l", 1))
    first = await clients.stream(Variant.DELTA, world, id=f"{world.group}-1")
    first.ask("lds", "*")
    await first.holding("lds", {"l": 1})
    await until(lambda: _acked(server, f"{world.group}-1"), within=10, what="an ACK")
    first.answer = refuse
    world.write("a", marked("lds", "l", 2))
    await refused(server, f"{world.group}-1", "lds")
    second = await clients.stream(Variant.DELTA, world, id=f"{world.group}-2")
    second.ask("lds", "*")
    await second.holding("lds", {"l": 1})
    await until(lambda: _acked(server, f"{world.group}-2"), within=10, what="an ACK")
    spared = (await shown(server, f"{world.group}-2"))["lds", "l"]
    assert spared["status"] == "NOT_SENT"
    assert spared["sent"] == spared["accepted"] is not None


async def _without(server: Server, node: str, *ghost: str) -> dict[tuple[str, str], Any] | None:
    """What is shown of a node once it has said that it knows that one resource is not there."""
    resources = await shown(server, node)
    return resources if resources.get((ghost[0], ghost[1]), {}).get("status") == "UNKNOWN" else None


async def _acked(server: Server, node: str) -> bool:
    return bool((await server.node(node))["types"]["lds"]["acked"])


async def test_secrets_are_blacked_out(server: Server, clients: Clients) -> None:
    world = server.world()
    node = f"{world.group}-node"
    world.write("a", certificate_secret("cert", "chain", KEY))
    stream = await clients.stream(Variant.DELTA, world, id=node)
    stream.ask("sds", "cert")
    await stream.until(lambda: stream.names_of("sds") == {"cert"}, what="the secret")
    response = await (await stub(clients)).FetchClientStatus(exactly(node))
    assert b"planted-in-csds" not in response.SerializeToString()
    secret = secret_pb2.Secret()
    content = entries(response)["sds", "cert"].xds_config
    if content.ByteSize():
        assert content.Unpack(secret)
        assert secret.tls_certificate.private_key.inline_string == "[redacted]"


def by_metadata(value: str, *path: str) -> csds_pb2.ClientStatusRequest:
    segments = [struct_pb2.StructMatcher.PathSegment(key=each) for each in path]
    wanted = value_pb2.ValueMatcher(string_match=string_pb2.StringMatcher(prefix=value))
    matcher = node_pb2.NodeMatcher(node_metadatas=[struct_pb2.StructMatcher(path=segments, value=wanted)])
    return csds_pb2.ClientStatusRequest(node_matchers=[matcher])


async def _requests(*requests: csds_pb2.ClientStatusRequest) -> AsyncIterator[csds_pb2.ClientStatusRequest]:
    for each in requests:
        yield each


async def test_matchers_and_streams(server: Server, clients: Clients) -> None:
    world = server.world()
    tag = world.group
    world.write("a", marked("cds", "a", 1))
    for number in (1, 2):
        node = node_of(f"{tag}-{number}", group=world.group, metadata={"pod": f"{tag}-pod-{number}"})
        stream = await clients.bare(Variant.DELTA)
        stream.node = node
        stream.ask("cds", "*")
        await stream.holding("cds", {"a": 1})
    asked = await stub(clients)

    async def nodes(request: csds_pb2.ClientStatusRequest) -> set[str]:
        return {each.node.id for each in (await asked.FetchClientStatus(request)).config}

    prefix = node_pb2.NodeMatcher(node_id=string_pb2.StringMatcher(prefix=f"{tag}-"))
    assert await nodes(csds_pb2.ClientStatusRequest(node_matchers=[prefix])) == {f"{tag}-1", f"{tag}-2"}
    assert await nodes(by_metadata(f"{tag}-pod-2", "pod")) == {f"{tag}-2"}
    assert await nodes(by_metadata(f"{tag}-pod-2", "pod", "other")) == set()
    assert {f"{tag}-1", f"{tag}-2"} <= await nodes(csds_pb2.ClientStatusRequest())
    bare = await asked.FetchClientStatus(exactly(f"{tag}-1", exclude_resource_contents=True))
    assert not entries(bare)["cds", "a"].HasField("xds_config")
    answers = [each async for each in asked.StreamClientStatus(_requests(exactly(f"{tag}-1"), exactly(f"{tag}-2")))]
    assert [each.config[0].node.id for each in answers] == [f"{tag}-1", f"{tag}-2"]


async def test_what_is_not_supported_is_told(clients: Clients) -> None:
    pattern = string_pb2.StringMatcher()
    pattern.safe_regex.regex = ".*"
    request = csds_pb2.ClientStatusRequest(node_matchers=[node_pb2.NodeMatcher(node_id=pattern)])
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await (await stub(clients)).FetchClientStatus(request)
    assert told.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_a_node_that_is_not_connected_has_no_config(server: Server) -> None:
    status, _ = await server.request("/v1/nodes/nobody/config")
    assert status == 404
