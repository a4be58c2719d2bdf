"""Secrets planted in every way in come out nowhere but where they belong: by SDS at the node, and encrypted on disk."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from envoy.service.status.v3 import csds_pb2, csds_pb2_grpc
from google.protobuf import any_pb2, json_format, text_format
from google.protobuf.message import Message

from tests.conformance.client import SLACK, Stream, connect
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import MESSAGES, Received, Variant, node_of
from tests.feature.commands import run
from tests.feature.planting import Planted, broken_files, files
from tests.feature.test_tracing import Collector, collecting
from xds_server.admin.operations import OPERATIONS
from xds_server.demo.polling import until
from xds_server.demo.world import certificate_secret
from xds_server.demo.yaml_files import write_documents
from xds_server.translate.protos import pool
from xds_server.wire.gen.tidegate.push.v1 import push_pb2

pytestmark = pytest.mark.timeout(180)

NODE, GROUP = "n1", "default"
SECRETS = ["pair", "ticket", "generic", "pushed", "by-grpc"]


@dataclass
class Place:
    """A server with secrets planted in it, and all that has come out of it, by where it came from."""

    server: Restartable
    folder: Path
    planted: Planted
    tokens: dict[str, str]
    out: dict[str, bytes] = field(default_factory=dict)

    def bearer(self, role: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[role]}"}

    async def ask(self, method: str, path: str, role: str = "reader", **more: Any) -> bytes:
        """An answer of the admin API; it counts as come out."""
        url = self.server.plane.admin + path
        async with (
            aiohttp.ClientSession(headers=self.bearer(role)) as http,
            http.request(method, url, **more) as response,
        ):
            body = await response.read()
        plain = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
        self.out[f"{method} {path} {response.status}"] = plain
        return plain

    async def command(self, *arguments: str, asks: bool = True) -> None:
        """A command; what it says counts as come out."""
        more = ["--admin", self.server.plane.admin, "--token-file", str(self.folder / "reader")] if asks else []
        code, output, errors = await run(*arguments, *more)
        assert code in (0, 1), errors
        self.out[f"tidegate {' '.join(arguments)}"] = (output + errors).encode()


@asynccontextmanager
async def serving(folder: Path, secrets: str) -> AsyncIterator[Place]:
    """A server with everything configured that a secret may come near."""
    planted = Planted()
    tokens = {role: planted.word(role) for role in ("reader", "operator", "node", "disk")}
    for role, token in tokens.items():
        (folder / role).write_text(token)
    settings = {
        "xds": {"auth": {"clients": [{"token_file": str(folder / "node"), "groups": ["*"]}]}},
        "admin": {"tokens": {role: str(folder / role) for role in ("reader", "operator")}},
        "state_dir": str(folder / "state"),
        "history": {"secrets": secrets, **({"key_file": str(folder / "disk")} if secrets == "encrypt" else {})},
        "sources": [{"kind": "files", "path": str(folder / "files")}, {"kind": "push"}],
        "log": {"level": "debug"},
    }
    for name, documents in files(planted).items():
        (folder / "files").mkdir(exist_ok=True)
        write_documents(folder / "files" / f"{name}.yaml", documents)
    for name, text in broken_files(planted).items():
        (folder / "files" / name).write_text(text)
    async with restartable(folder, settings) as server:
        yield Place(server, folder, planted, tokens)


async def push(place: Place) -> None:
    """One secret over HTTP, one over gRPC, and one in a push that is refused."""
    path = "/v1/push/billing/default"
    for version, name in (("1", "pushed"), ("2", "pushed-anew")):
        body = {"version": version, "resources": [certificate_secret("pushed", "chain", place.planted.key(name))]}
        assert b'"sds":1' in await place.ask("PUT", path, "operator", json=body)
    wrong = certificate_secret("wrong", "chain", "")
    wrong["tls_certificate"]["private_key"] = {"inline_strin": place.planted.key("refused")}
    assert b"422" in await place.ask("PUT", path, "operator", json={"version": "3", "resources": [wrong]})
    await place.ask("PUT", path, "operator", data=f'{{"version": "{place.planted.word("body")}', headers=_JSON)
    packed: Any = any_pb2.Any()
    document = certificate_secret("by-grpc", "chain", place.planted.key("grpc"))
    packed.Pack(json_format.ParseDict({k: v for k, v in document.items() if k != "@type"}, MESSAGES["sds"]()))
    async with connect(place.server.xds) as channel:
        call: Any = channel.unary_unary("/tidegate.push.v1.PushService/Put")
        request = push_pb2.PutRequest(owner="shop", group=GROUP, version="1", resources=[packed])
        await call(request.SerializeToString(), metadata=[*place.bearer("operator").items()])


_JSON = {"Content-Type": "application/json"}


def _raw(message: Message) -> str:
    return message.SerializeToString().decode("latin-1")


QUOTES: dict[str, Callable[[Message], str]] = {
    "raw": _raw,
    "text": text_format.MessageToString,
    "utf-8": lambda message: text_format.MessageToString(message, as_utf8=True, as_one_line=True),
    "json": lambda message: str(json_format.MessageToJson(message)),
}
"""How a client may quote what it refuses; Envoy does so in protobuf's text form."""

REFUSERS = [(f"{form}-{key}", form, key) for form in QUOTES for key in ("cds", "lds", "rds", "sds", "ecds")]
"""Nodes: id, how it quotes, what it refuses."""


async def nodes(place: Place, stack: AsyncExitStack) -> Stream:
    """A node that accepts all, with secrets in its metadata; then some that each refuse one type, and quote it."""
    pool()  # Without it the text form does not show what is in an Any.
    clients = await stack.enter_async_context(place.server.clients())
    node = node_of(NODE)
    node.metadata.update({"token": place.planted.word("node-token"), "note": f"Bearer {place.planted.word('note')}"})
    metadata = [*place.bearer("node").items()]
    stream = await stack.enter_async_context(Stream(await clients.channel(), Variant.DELTA, node, metadata=metadata))
    await _ask(stream)
    for id_, form, key in REFUSERS:
        answer = partial(_refuse, key, QUOTES[form])
        await _ask(await clients.stream(Variant.DELTA, id=id_, answer=answer, metadata=metadata), key)
    return stream


def _refuse(key: str, quote: Callable[[Message], str], stream: Stream, response: Received) -> None:
    if response.key != key:
        stream.ack(response)
        return
    found = [quote(MESSAGES[key].FromString(body)) for body in response.resources.values()]
    stream.nack(response, f"Proto constraint validation failed (it is refused): {' '.join(found)}")


async def _ask(stream: Stream, *awaited: str) -> None:
    """Ask for everything, and wait until resources of these types have come."""
    wanted = {"cds": ["*"], "lds": ["*"], "rds": ["table"], "sds": SECRETS, "ecds": ["basic"]}
    for key, names in wanted.items():
        stream.ask(key, *names)
    for key in awaited or wanted:
        await stream.until(partial(_holds, stream, key, {*wanted[key]} - {"*"}), what=key)


def _holds(stream: Stream, key: str, names: set[str]) -> bool:
    return bool(stream.names_of(key)) and stream.names_of(key) >= names


async def come_out(place: Place) -> None:
    """Ask for everything that can be asked."""
    values = {"group": GROUP, "node": NODE, "owner": "billing", "namespace": "shop", "name": "edge"}
    current = json.loads(await place.ask("GET", f"/v1/groups/{GROUP}"))
    for operation in OPERATIONS:
        query = f"?group={GROUP}&type=sds&name=pair" if operation.path in ("/v1/explain", "/v1/export") else ""
        query = "?follow=false" if operation.path == "/v1/events" else query
        for seq in range(1, current["seq"] + 1) if "{version}" in operation.path else [0]:
            if operation.method == "GET":
                await place.ask("GET", operation.path.format(version=seq, **values) + query)
    for node, *_ in REFUSERS:
        await place.ask("GET", f"/v1/nodes/{node}")
        await place.ask("GET", f"/v1/nodes/{node}/config")
    for seq in range(1, current["seq"]):
        await place.ask("GET", f"/v1/groups/{GROUP}/diff?from={seq}&to={current['seq']}")
        await place.ask("GET", f"/v1/export?group={GROUP}&version={seq}")
    async with connect(place.server.xds) as channel:
        stub: Any = csds_pb2_grpc.ClientStatusDiscoveryServiceStub(channel)
        answer = await stub.FetchClientStatus(csds_pb2.ClientStatusRequest(), metadata=[*place.bearer("node").items()])
        assert len(answer.config) == len(REFUSERS) + 1
        place.out["CSDS"] = answer.SerializeToString()


async def commands(place: Place) -> None:
    """What the commands say, as tables and as JSON."""
    for view in ("table", "json"):
        for words in (["status"], ["nodes"], ["nodes", "text-sds"], ["diff"], ["events"], ["audit"]):
            await place.command(*words, "-o", view)
        await place.command("explain", "sds", "pair", "-o", view)
    folder = str(place.server.files)
    await place.command("validate", folder, asks=False)
    await place.command("validate", folder, "-o", "json", asks=False)
    await place.command("render", folder, asks=False)


def kept(place: Place, collector: Collector) -> None:
    """What lies on disk, what was logged and what was traced."""
    place.out["log"] = (place.folder / "tidegate.log").read_bytes()
    place.out["traces"] = collector.raw
    for path in (place.folder / "state").rglob("*"):
        if path.is_file():
            place.out[str(path.relative_to(place.folder))] = path.read_bytes()


@pytest.mark.parametrize("secrets", ["omit", "encrypt"])
async def test_planted_secrets_come_out_nowhere(secrets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        collector, address = await stack.enter_async_context(collecting())
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        place = await stack.enter_async_context(serving(tmp_path, secrets))
        await push(place)
        stream = await nodes(place, stack)
        arrived = place.planted.found_in(b"".join(body for held in stream.holds.values() for body in held.values()))

        async def traced() -> bool:
            return sum("it is refused" in span.get("status", {}).get("message", "") for span in collector.spans) >= len(
                REFUSERS
            )

        await until(traced, within=5 * SLACK, what="all refusals are traced")
        await come_out(place)
        await commands(place)
        await place.server.plane.child.stop(10)
        kept(place, collector)
    _check(place, arrived)


def _check(place: Place, arrived: set[str]) -> None:
    """Every secret was where it belongs, everything was looked at, and nothing has come out."""
    words = ["listener", "files", "pushed-anew", "grpc", "ticket", "generic", "bearer", "header", "metadata", "basic"]
    assert {word for word in words if not any(word in marker for marker in arrived)} == set()
    assert {key for key, text in place.out.items() if not text} <= {"state/lock"}
    everything = b"".join(place.out.values())
    for sign in (b"[redacted]", b"it is refused", b"z-syntax.yaml", b"z-type.yaml", b"by-grpc"):
        assert sign in everything, sign
    leaks = {source: found for source, text in place.out.items() if (found := place.planted.found_in(text))}
    assert not leaks, json.dumps({source: sorted(found) for source, found in leaks.items()}, indent=1)
