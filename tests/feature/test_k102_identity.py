"""K102: a node's id, cluster and metadata are claims; what a caller has proved decides which groups it may be given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2

from tests.conformance.client import Stream, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, MAIN, Variant, node_of, sotw_request
from tests.support.callers import NAME, Caller, tls_settings
from tests.support.certificates import Authority
from xds_server.wire.csds import CSDS, FETCH
from xds_server.wire.services import SERVICES

DENIED, UNKNOWN = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED
TOKENS = {"a": "planted-token-of-a-0123456789", "b": "planted-token-of-b-0123456789"}
SPIFFE = {group: f"spiffe://example.org/{group}" for group in ("a", "b")}
RULE = {"match": {"id": "ruled-*"}, "group": "b"}
MARK_OF_B = b"mark-only_of_b;"


@dataclass
class Place:
    """A server with the groups a and b, and a caller of each."""

    server: Restartable
    callers: dict[str, Caller]
    folder: Path


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["certificate", "token"])
async def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A server that knows its callers by certificate, or by token."""
    folder = tmp_path_factory.mktemp(request.param)
    authority = Authority()
    authority.issue(NAME).write(folder)
    (folder / "ca.crt").write_text(authority.certificate)
    by_certificate = request.param == "certificate"
    entries = [_entry(folder, group, by_certificate=by_certificate) for group in ("a", "b")]
    xds = {"tls": tls_settings(folder, clients=by_certificate), "auth": {"clients": entries}}
    async with restartable(folder, {"xds": xds, "groups": [RULE]}) as server:
        for group in ("a", "b"):
            documents = (marked(key, f"{group}-{key}", f"only_of_{group}") for key in MAIN)
            world = World(server.files, group)
            world.write("all", *documents, marked("cds", "same-name", f"only_of_{group}"))
            await server.served(world)
        callers = {}
        for group in ("a", "b"):
            pair = authority.issue(group, uris=[SPIFFE[group]]) if by_certificate else None
            callers[group] = Caller(server.xds, authority, pair, "" if by_certificate else TOKENS[group])
        yield Place(server, callers, folder)


def _entry(folder: Path, group: str, *, by_certificate: bool) -> dict[str, object]:
    if by_certificate:
        return {"spiffe": SPIFFE[group], "groups": [group]}
    path = folder / f"{group}.token"
    path.write_text(TOKENS[group])
    return {"token_file": str(path), "groups": [group]}


@pytest_asyncio.fixture(loop_scope="session")
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opens ends with it."""
    async with AsyncExitStack() as opened:
        yield opened


def _nothing_of_b(stream: Stream) -> None:
    assert all(MARK_OF_B not in body for response in stream.received for body in response.resources.values())
    assert all(not name.startswith("b-") for response in stream.received for name in response.names)


@pytest.mark.parametrize("variant", BOTH)
async def test_k102_each_gets_its_own(place: Place, stack: AsyncExitStack, variant: Variant) -> None:
    for group, caller in place.callers.items():
        stream = await caller.stream(stack, variant, node_of(f"{group}-{variant}", cluster=group))
        stream.ask("cds")
        await stream.holding("cds", {f"{group}-cds": f"only_of_{group}", "same-name": f"only_of_{group}"})
        shown = await place.server.node(f"{group}-{variant}")
        assert shown["identity"] == (SPIFFE[group] if caller.pair else f"token {group}.token")


@pytest.mark.parametrize("variant", BOTH)
@pytest.mark.parametrize(
    "claim",
    [{"cluster": "b"}, {"group": "b"}, {"group": "b", "cluster": "a"}, {"id": "ruled-1", "group": "a"}, {}],
    ids=["cluster", "metadata", "metadata_before_cluster", "rule", "neither"],
)
async def test_k102_another_group_is_denied(
    place: Place, stack: AsyncExitStack, variant: Variant, claim: dict[str, str]
) -> None:
    node = node_of(**{"id": "b-1", **claim})  # type: ignore[arg-type]
    stream = await place.callers["a"].stream(stack, variant, node)
    stream.ask("sds", "b-sds")
    code, said = await stream.end()
    assert code is DENIED
    wanted = "b" if claim else "default"
    assert f"group '{wanted}'" in said
    assert "may be given: a" in said
    assert not stream.received


@pytest.mark.parametrize("variant", BOTH)
async def test_k102_names_of_another_group_lead_nowhere(place: Place, stack: AsyncExitStack, variant: Variant) -> None:
    """By the id of another's node, by plain names, and by names that are URLs."""
    witness = await place.callers["b"].stream(stack, variant, node_of("b-1", cluster="b"))
    witness.ask("sds", "b-sds")
    await witness.holding("sds", {"b-sds": "only_of_b"})
    heard = len(witness.received)
    stream = await place.callers["a"].stream(stack, variant, node_of("b-1", cluster="a"))
    for key in MAIN:
        url = f"xdstp://b/envoy.config.{key}/b-{key}"
        stream.ask(key, f"b-{key}", url, f"xdstp:///b-{key}?group=b", "same-name", f"a-{key}", "../b/b-sds", "*b*")
    for key in MAIN:
        await stream.sent(key, f"a-{key}")
    await stream.quiet("none", seconds=0.3)
    _nothing_of_b(stream)
    assert len(witness.received) == heard
    assert witness.ended is None


@pytest.mark.parametrize("variant", BOTH)
async def test_k102_the_group_does_not_change_on_a_stream(
    place: Place, stack: AsyncExitStack, variant: Variant
) -> None:
    stream = await place.callers["a"].stream(stack, variant, node_of("a-1", cluster="a"), node_always=True)
    stream.ask("cds")
    await stream.sent("cds", "a-cds")
    stream.node = node_of("a-1", group="b", cluster="b")
    stream.ask("eds", "b-eds", "a-eds")
    await stream.sent("eds", "a-eds")
    stream.ask("sds", "b-sds", "a-sds")
    await stream.sent("sds", "a-sds")
    _nothing_of_b(stream)
    stream.node = node_of("b-1", cluster="b")
    stream.ask("rds", "b-rds")
    code, said = await stream.end()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "b-1" in said
    _nothing_of_b(stream)


def _streams() -> list[tuple[str, Variant]]:
    found = [(f"/{each.name}/{each.delta}", Variant.DELTA) for each in SERVICES]
    return found + [(f"/{each.name}/{each.stream}", Variant.SOTW) for each in SERVICES if each.stream]


def _fetches() -> list[str]:
    return [f"/{each.name}/{each.fetch}" for each in SERVICES if each.fetch]


@pytest.mark.parametrize(("method", "variant"), _streams())
async def test_k102_every_stream_asks(place: Place, stack: AsyncExitStack, method: str, variant: Variant) -> None:
    """Who can show nothing has no connection (certificates), or no call (tokens), whatever it would ask."""
    nobody = replace(place.callers["a"], pair=None, token="")
    stream = await nobody.stream(stack, variant, node_of("a-1", cluster="a"), method=method)
    code, said = await stream.end()
    if nobody.pair is None and place.callers["a"].pair is not None:
        assert code is grpc.StatusCode.UNAVAILABLE
    else:
        assert (code, "bearer token" in said) == (UNKNOWN, True), said
    other = await place.callers["a"].stream(stack, variant, node_of("a-1", cluster="b"), method=method, answer=hold)
    other.send(_first(method, variant))
    assert (await other.end())[0] is DENIED
    assert not stream.received + other.received


def _first(method: str, variant: Variant) -> bytes:
    service = next(each for each in SERVICES if each.name in method)
    node = node_of("a-1", cluster="b").SerializeToString()
    url = (service.type_url or "type.googleapis.com/envoy.config.cluster.v3.Cluster").encode()
    number, of_url = (2, 4) if variant is Variant.SOTW else (1, 2)
    return _field(number, node) + _field(of_url, url)


def _field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2, len(payload)]) + payload


@pytest.mark.parametrize("method", _fetches())
async def test_k102_every_fetch_asks(place: Place, stack: AsyncExitStack, method: str) -> None:
    caller = place.callers["a"]
    if caller.pair is None:
        code, _ = await replace(caller, token="wrong").call(stack, method, _first(method, Variant.SOTW))
        assert code is UNKNOWN
    code, said = await caller.call(stack, method, _first(method, Variant.SOTW))
    assert code is DENIED
    assert "group 'b'" in str(said)


async def test_k102_a_fetch_of_its_own_group(place: Place, stack: AsyncExitStack) -> None:
    request = sotw_request("sds", ["a-sds", "b-sds"], node=node_of("a-1", cluster="a")).SerializeToString()
    method = "/envoy.service.secret.v3.SecretDiscoveryService/FetchSecrets"
    code, body = await place.callers["a"].call(stack, method, request)
    assert code is grpc.StatusCode.OK
    assert b"mark-only_of_a;" in body
    assert MARK_OF_B not in body


async def test_k102_reflection_asks_and_health_is_open(place: Place, stack: AsyncExitStack) -> None:
    if place.callers["a"].pair is not None:
        pytest.skip("without a certificate there is no connection at all")
    nobody = replace(place.callers["a"], token="")
    code, _ = await nobody.call(
        stack, "/grpc.health.v1.Health/Check", health_pb2.HealthCheckRequest().SerializeToString()
    )
    assert code is grpc.StatusCode.OK
    channel: Any = await nobody.channel(stack)
    call = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is UNKNOWN


async def test_k102_headers_that_are_no_token(place: Place, stack: AsyncExitStack) -> None:
    if place.callers["a"].pair is not None:
        pytest.skip("by token only")
    nobody = replace(place.callers["a"], token="")
    right, wrong = (f"Bearer {TOKENS[group]}" for group in ("a", "b"))
    for headers in (
        [f"Basic {TOKENS['a']}"],
        [TOKENS["a"]],
        [right + "x"],
        [right, wrong],
        [right, right],
        ["Bearer"],
        [""],
    ):
        caller = replace(nobody, headers=tuple(("authorization", header) for header in headers))
        code, _ = await caller.call(stack, _fetches()[0], _first(_fetches()[0], Variant.SOTW))
        assert code is UNKNOWN, headers


async def test_k102_what_was_refused_is_told_and_no_token_anywhere(place: Place, stack: AsyncExitStack) -> None:
    """Comes last: what all the tests above have left in the log and the admin API."""
    stream = await place.callers["a"].stream(stack, Variant.SOTW, node_of("b-7", cluster="b"))
    stream.ask("cds")
    await stream.end()
    log = place.server.plane.child.tail(100_000)
    assert "xds_denied" in log
    assert "b-7" in log
    entries = (await place.server.get("/v1/audit"))["entries"]
    (entry,) = [each for each in entries if "b-7" in each["reason"]]
    assert (entry["action"], entry["target"]) == ("denied", "b")
    paths = [
        "/metrics",
        "/v1/audit",
        "/v1/groups",
        "/v1/nodes",
        "/v1/sources",
        "/openapi.json",
        "/v1/groups/a/versions",
    ]
    shown = [log, *[(await place.server.request(path))[1] for path in paths]]
    assert not [text for text in shown for token in TOKENS.values() if token in text]
    assert await place.server.metric("tidegate_requests_rejected_total", reason="denied") >= 1


async def test_k102_the_client_status_shows_a_caller_its_own_groups_only(place: Place, stack: AsyncExitStack) -> None:
    for group, caller in place.callers.items():
        stream = await caller.stream(stack, Variant.DELTA, node_of(f"{group}-seen", cluster=group))
        stream.ask("cds")
        await stream.sent("cds", f"{group}-cds")
    code, answer = await place.callers["a"].call(stack, f"/{CSDS}/{FETCH}", b"")
    assert code is grpc.StatusCode.OK
    assert isinstance(answer, bytes)
    assert b"a-seen" in answer
    assert b"b-seen" not in answer
    assert MARK_OF_B not in answer
    nobody = replace(place.callers["a"], pair=None, token="")
    assert (await nobody.call(stack, f"/{CSDS}/{FETCH}", b""))[0] is not grpc.StatusCode.OK
