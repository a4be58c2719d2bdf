"""K102 by the tokens of ServiceAccounts: who a caller is an API server says, and that decides which groups it may be given."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import grpc
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from ruamel.yaml import YAML

from k8s_source.client.api import Api
from k8s_source.token_review import TokenReviews
from tests.conformance.client import Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, MAIN, Variant, node_of
from tests.support import granted
from tests.support.callers import Caller
from tests.support.fleet import SLACK, Fleet
from tests.support.kube import ISSUER, Kube, StartKube
from xds_server.demo.bootstrap import Mode, bootstrap_folder
from xds_server.demo.polling import until

AUDIENCE = "tidegate"
DENIED, UNKNOWN, LATER = (
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNAVAILABLE,
)
MARK_OF_B = b"mark-only_of_b;"


def account(namespace: str, group: str) -> str:
    return f"system:serviceaccount:{namespace}:envoy-{group}"


@dataclass
class Place:
    """A server with the groups a and b, each for one ServiceAccount, and a caller of each."""

    server: Restartable
    kube: Kube
    namespace: str
    callers: dict[str, Caller]

    def caller(self, token: str) -> Caller:
        return replace(self.callers["a"], token=token)


async def started(folder: Path, kube: Kube, namespace: str, stack: AsyncExitStack) -> Place:
    """The server and its callers, until `stack` ends."""
    clients = [{"subject": account(namespace, group), "groups": [group]} for group in ("a", "b")]
    settings = {
        "xds": {"auth": {"clients": clients, "token_review": {"audience": AUDIENCE}}},
        "sources": [
            {"kind": "files", "path": str(folder / "files")},
            {"kind": "kubernetes", "kubeconfig": str(granted.kubeconfig(kube, namespace)), "namespaces": [namespace]},
        ],
    }
    server = await stack.enter_async_context(restartable(folder, settings))
    for group in ("a", "b"):
        World(server.files, group).write(
            "all",
            *(marked(key, f"{group}-{key}", f"only_of_{group}") for key in MAIN),
            marked("cds", "same-name", f"only_of_{group}"),
        )
        await server.served(World(server.files, group))
    callers = {}
    for group in ("a", "b"):
        token = await asyncio.to_thread(kube.token, namespace, f"envoy-{group}", audience=AUDIENCE)
        callers[group] = Caller(server.xds, token=token)
    return Place(server, kube, namespace, callers)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opens ends with it."""
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
async def place(kube: Kube, namespace: str, tmp_path: Path, stack: AsyncExitStack) -> Place:
    return await started(tmp_path, kube, namespace, stack)


def _nothing_of_b(stream: Stream) -> None:
    assert all(MARK_OF_B not in body for response in stream.received for body in response.resources.values())
    assert all(not name.startswith("b-") for response in stream.received for name in response.names)


async def test_k102_a_service_account_gets_its_own_group_and_nothing_of_another(
    place: Place, stack: AsyncExitStack
) -> None:
    witness = await place.callers["b"].stream(stack, Variant.DELTA, node_of("b-1", cluster="b"))
    witness.ask("cds")
    witness.ask("sds", "b-sds")
    await witness.holding("sds", {"b-sds": "only_of_b"})
    await witness.sent("cds", "b-cds")
    heard = len(witness.received)
    shown = await place.server.node("b-1")
    assert shown["identity"] == account(place.namespace, "b")

    # Its own group, under the other's id: names of b lead nowhere, in SDS as among clusters of a delta stream.
    for variant in BOTH:
        stream = await place.callers["a"].stream(stack, variant, node_of("b-1", cluster="a"))
        stream.ask("sds", "b-sds", "a-sds", "*")
        stream.ask("cds", "b-cds", "a-cds", "same-name")
        await stream.sent("sds", "a-sds")
        await stream.sent("cds", "a-cds")
        await stream.quiet("none", seconds=0.3)
        _nothing_of_b(stream)

    # The other group: denied, whatever the node says of itself.
    for variant in BOTH:
        for claim in (node_of("b-1", cluster="b"), node_of("b-1", group="b", cluster="a"), node_of("b-1")):
            stream = await place.callers["a"].stream(stack, variant, claim)
            stream.ask("sds", "b-sds")
            stream.ask("cds", "b-cds")
            code, said = await stream.end()
            assert code is DENIED, said
            assert "may be given: a" in said
            assert not stream.received
    entries = (await place.server.get("/v1/audit"))["entries"]
    denied = [each for each in entries if each["action"] == "denied" and each["target"] == "b"]
    assert [each["actor"] for each in denied] == [account(place.namespace, "a")]
    assert len(witness.received) == heard
    assert witness.ended is None
    assert place.callers["a"].token not in place.server.plane.child.tail(100_000)


async def _refusal(place: Place, token: str, stack: AsyncExitStack) -> tuple[grpc.StatusCode, str]:
    """How a stream ends, and with which words. gRPC's client loses both where it was still sending; then once more."""
    code, said = grpc.StatusCode.INTERNAL, ""
    for _ in range(5):
        stream = await place.caller(token).stream(stack, Variant.DELTA, node_of("a-1", cluster="a"))
        stream.ask("cds")
        code, said = await stream.end()
        if code is not grpc.StatusCode.INTERNAL:
            break
    return code, said


async def test_k102_tokens_that_are_no_good(place: Place, stack: AsyncExitStack) -> None:
    kube, namespace = place.kube, place.namespace
    another = await asyncio.to_thread(kube.token, namespace, "envoy-a", audience="another")
    api_servers = await asyncio.to_thread(kube.token, namespace, "envoy-a")
    stranger = await asyncio.to_thread(kube.token, namespace, "envoy-c", audience=AUDIENCE)
    good = place.callers["a"].token
    forged = ".".join((*good.split(".")[:2], "c2lnbmF0dXJl"))
    tokens = {
        "of another audience": another,
        "for the API server": api_servers,
        "of an account that is not listed": stranger,
        "forged": forged,
        "expired": signed(kube, namespace, time.time() - 60),
        "none": "",
    }
    for what, token in tokens.items():
        code, said = await _refusal(place, token, stack)
        assert code is UNKNOWN, f"{what}: {said}"
        assert "token of a ServiceAccount" in said
    stream = await place.caller(good).stream(stack, Variant.DELTA, node_of("a-1", cluster="a"))
    stream.ask("cds")
    await stream.sent("cds", "a-cds")


async def test_k102_what_the_api_server_says_of_tokens(kube: Kube, namespace: str, api: Api) -> None:
    reviews = TokenReviews(api)
    token = await asyncio.to_thread(kube.token, namespace, "envoy-a", audience=AUDIENCE)
    assert await reviews.review(token, AUDIENCE) == account(namespace, "a")
    assert await reviews.review(token, "another") is None
    assert await reviews.review(signed(kube, namespace, time.time() - 60), AUDIENCE) is None
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/envoy-a"
    await asyncio.to_thread(kube.client.request, "DELETE", path)

    async def refused() -> bool:
        return await reviews.review(token, AUDIENCE) is None

    # The API server itself remembers for 10 s what it has found good.
    await until(refused, within=15 * SLACK, what="the account is gone", interval=0.5)


async def test_k102_while_the_api_server_is_away_known_tokens_go_on_and_others_come_again(
    own_kube: StartKube, tmp_path: Path, stack: AsyncExitStack
) -> None:
    kube = await asyncio.to_thread(own_kube)
    namespace = await asyncio.to_thread(kube.client.namespace, f"test-{uuid.uuid4().hex[:8]}")
    place = await started(tmp_path, kube, namespace, stack)
    fresh = await asyncio.to_thread(kube.token, namespace, "envoy-a", audience=AUDIENCE)
    first = await place.callers["a"].stream(stack, Variant.DELTA, node_of("a-1", cluster="a"))
    first.ask("cds")
    await first.sent("cds", "a-cds")
    kube.kill()
    second = await place.callers["a"].stream(stack, Variant.DELTA, node_of("a-2", cluster="a"))
    second.ask("cds")
    await second.sent("cds", "a-cds")
    stream = await place.caller(fresh).stream(stack, Variant.DELTA, node_of("a-3", cluster="a"))
    code, said = await stream.end()
    assert code is LATER, said
    assert await place.server.metric("tidegate_requests_rejected_total", reason="not_reviewed") >= 1
    await asyncio.to_thread(kube.start)
    stream = await place.caller(fresh).stream(stack, Variant.DELTA, node_of("a-3", cluster="a"))
    stream.ask("cds")
    await stream.sent("cds", "a-cds")
    assert first.ended is None


@pytest.mark.envoy
async def test_k102_a_real_envoy_shows_the_token_of_its_service_account_and_the_next_one(
    kube: Kube, namespace: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    """As envoy/service-account-token.yaml has it; the folder of the token is as the kubelet makes it."""
    place = await started(tmp_path / "server", kube, namespace, stack)
    mounted = tmp_path / "mounted"
    mount(mounted, place.callers["a"].token)
    (tmp_path / "sds.yaml").write_text(
        (bootstrap_folder() / "sds" / "service-account-token.yaml")
        .read_text()
        .replace("/var/run/secrets/tidegate", str(mounted))
    )

    def with_token(bootstrap: str) -> str:
        made = json.loads(bootstrap)
        (cluster,) = made["static_resources"]["clusters"]
        (options,) = cluster["typed_extension_protocol_options"].values()
        options.update(YAML(typ="safe").load(bootstrap_folder() / "service-account-token.yaml"))
        text = json.dumps(made)
        return text.replace("/etc/envoy/sds/service-account-token.yaml", str(tmp_path / "sds.yaml"))

    fleet = Fleet(tmp_path, stack)
    await fleet.envoy(Mode.DELTA, place.server.xds, node="real", cluster="a", edit=with_token)

    async def known() -> bool:
        return bool((await place.server.node("real")).get("identity") == account(namespace, "a"))

    await until(known, within=10 * SLACK, what="the Envoy is known")

    # The token is renewed, and is another account's: so it is the new one that the next stream shows.
    mount(mounted, place.callers["b"].token)

    async def denied() -> bool:
        entries = (await place.server.get("/v1/audit"))["entries"]
        return any(each["action"] == "denied" and each["actor"] == account(namespace, "b") for each in entries)

    async def shown() -> bool:
        """Whether the next stream shows it: nothing of an Envoy tells when it has read the file."""
        await place.server.plane.child.kill()
        await place.server.plane.start()
        with suppress(TimeoutError):
            return await until(denied, within=5 * SLACK, what="denied")
        return False

    await until(shown, within=20 * SLACK, what="the new token is shown")


def mount(folder: Path, token: str) -> None:
    """Write a file `token` as the kubelet does: below a folder of its own, by a symbolic link that is replaced."""
    data = folder / f"..{uuid.uuid4().hex}"
    data.mkdir(parents=True)
    (data / "token").write_text(token)
    draft = folder / "..data_tmp"
    draft.symlink_to(data.name)
    draft.rename(folder / "..data")
    if not (folder / "token").is_symlink():
        (folder / "token").symlink_to("..data/token")


def signed(kube: Kube, namespace: str, expires: float) -> str:
    """A token of the account of a, signed by the API server's own key, with an end of our choosing."""
    uid = kube.client.get("v1", "ServiceAccount", "envoy-a", namespace)["metadata"]["uid"]
    claims = {
        "iss": ISSUER,
        "aud": [AUDIENCE],
        "iat": expires - 3600,
        "nbf": expires - 3600,
        "exp": expires,
        "sub": account(namespace, "a"),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": "envoy-a", "uid": uid}},
    }
    key = serialization.load_pem_private_key(kube.pki.accounts_key.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    head = ".".join(_part(json.dumps(each).encode()) for each in ({"alg": "ES256", "typ": "JWT"}, claims))
    first, second = decode_dss_signature(key.sign(head.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{head}.{_part(first.to_bytes(32, 'big') + second.to_bytes(32, 'big'))}"


def _part(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
