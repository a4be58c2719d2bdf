"""TLS of the xDS server: who is let in, and certificates that are exchanged while streams are open."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
import pytest_asyncio

from tests.conformance.client import SLACK, Stream, hold
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, Variant, node_of
from tests.feature.inprocess import inside
from tests.support.callers import NAME, Caller, tls_settings
from tests.support.certificates import Authority, serial_of
from xds_server.credentials.tls import watch_tls
from xds_server.credentials.watched import INTERVAL, Credentials
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.processes import ProcessEndedError
from xds_server.settings.base import Tls
from xds_server.stream import server as stream_server
from xds_server.stream.context import Limits

RELOADED = 3 * INTERVAL
"""Seconds within which new files must be in use (times the slack)."""


@pytest_asyncio.fixture(loop_scope="session")
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What a test opens ends with it."""
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority, with a pair for the server in the test's folder."""
    made = Authority()
    made.issue(NAME).write(tmp_path)
    (tmp_path / "ca.crt").write_text(made.certificate)
    return made


async def _serving(stack: AsyncExitStack, folder: Path, *, clients: bool) -> Restartable:
    settings = {"xds": {"tls": tls_settings(folder, clients=clients)}}
    server = await stack.enter_async_context(restartable(folder, settings))
    World(server.files, "g").write("a", marked("cds", "a", 1))
    return server


async def _shown(server: Restartable, authority: Authority, pair_file: Path | None = None) -> int:
    """The serial number of the certificate that a new handshake shows."""
    context = authority.client_context()
    context.set_alpn_protocols(["h2"])
    if pair_file is not None:
        context.load_cert_chain(pair_file / "tls.crt", pair_file / "tls.key")
    host, _, port = server.xds.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return serial_of(der)
    finally:
        writer.close()


async def _shows(server: Restartable, authority: Authority, serial: int) -> None:
    async def matches() -> bool:
        return await _shown(server, authority) == serial

    await until(matches, within=RELOADED * SLACK, what=f"certificate {serial}", interval=0.1)


@pytest.mark.parametrize("variant", BOTH)
async def test_tls_without_client_certificates(
    stack: AsyncExitStack, tmp_path: Path, authority: Authority, variant: Variant
) -> None:
    server = await _serving(stack, tmp_path, clients=False)
    stream = await Caller(server.xds, authority).stream(stack, variant, node_of("n", cluster="g"))
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    assert (await server.node("n"))["identity"] == ""
    plain = await Caller(server.xds).stream(stack, variant, node_of("n", cluster="g"))
    assert (await plain.end())[0] is grpc.StatusCode.UNAVAILABLE


async def test_mutual_tls_lets_in_whom_the_authority_signed(
    stack: AsyncExitStack, tmp_path: Path, authority: Authority
) -> None:
    server = await _serving(stack, tmp_path, clients=True)
    mine, stranger = authority.issue("edge"), Authority("strangers").issue("edge")
    stream = await Caller(server.xds, authority, mine).stream(stack, Variant.DELTA, node_of("n", cluster="g"))
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    assert (await server.node("n"))["identity"] == "CN=edge"
    for pair in (None, stranger):
        refused = await Caller(server.xds, authority, pair).stream(stack, Variant.DELTA, node_of("m", cluster="g"))
        assert (await refused.end())[0] is grpc.StatusCode.UNAVAILABLE


async def test_the_end_of_a_certificate_counts_for_new_connections_and_open_streams_go_on(
    stack: AsyncExitStack, tmp_path: Path, authority: Authority
) -> None:
    server = await _serving(stack, tmp_path, clients=True)
    life = 4 * SLACK
    caller = Caller(server.xds, authority, authority.issue("edge", life=timedelta(seconds=life)))
    ends = time.monotonic() + life
    stream = await caller.stream(stack, Variant.DELTA, node_of("n", cluster="g"))
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    await asyncio.sleep(ends + 1.5 - time.monotonic())
    refused = await caller.stream(stack, Variant.DELTA, node_of("m", cluster="g"))
    assert (await refused.end())[0] is grpc.StatusCode.UNAVAILABLE
    World(server.files, "g").write("a", marked("cds", "a", 2))
    await stream.holding("cds", {"a": 2})


async def test_new_handshakes_use_a_new_certificate_and_open_streams_go_on(
    stack: AsyncExitStack, tmp_path: Path, authority: Authority
) -> None:
    server = await _serving(stack, tmp_path, clients=False)
    caller = Caller(server.xds, authority)
    stream = await caller.stream(stack, Variant.DELTA, node_of("n", cluster="g"))
    stream.ask("cds")
    await stream.holding("cds", {"a": 1})
    for mark in (2, 3):
        pair = authority.issue(NAME)
        pair.write(tmp_path)
        await _shows(server, authority, pair.serial)
        World(server.files, "g").write("a", marked("cds", "a", mark))
        await stream.holding("cds", {"a": mark})
        again = await caller.stream(stack, Variant.SOTW, node_of(f"m-{mark}", cluster="g"))
        again.ask("cds")
        await again.holding("cds", {"a": mark})
    assert stream.ended is None


async def test_a_broken_pair_keeps_the_last_good_one_and_is_told(
    stack: AsyncExitStack, tmp_path: Path, authority: Authority
) -> None:
    server = await _serving(stack, tmp_path, clients=False)
    before = await _shown(server, authority)
    (tmp_path / "tls.key").write_text(authority.issue("other").key)

    async def told() -> bool:
        return await server.metric("tidegate_credential_up", credential="xds.tls") == 0

    await until(told, within=RELOADED * SLACK, what="the metric tells of the broken pair", interval=0.1)
    log = server.plane.child.tail(1000)
    assert "credential_broken" in log
    assert "KEY_VALUES_MISMATCH" in log
    assert "PRIVATE KEY" not in log
    assert await _shown(server, authority) == before
    pair = authority.issue(NAME)
    pair.write(tmp_path)
    await _shows(server, authority, pair.serial)
    assert await server.metric("tidegate_credential_up", credential="xds.tls") == 1


async def test_a_new_authority_of_clients_by_a_symlink_swap(stack: AsyncExitStack, tmp_path: Path) -> None:
    """As a kubelet exchanges a mounted Secret; the old authority's clients are let in no more."""
    mounted = tmp_path / "mounted"
    old, new = Authority("old"), Authority("new")
    for name, made in (("1", old), ("2", new)):
        (mounted / name).mkdir(parents=True)
        old.issue(NAME).write(mounted / name)
        (mounted / name / "ca.crt").write_text(made.certificate)
    (mounted / "..data").symlink_to("1")
    for file in ("tls.crt", "tls.key", "ca.crt"):
        (mounted / file).symlink_to(f"..data/{file}")
    server = await _serving(stack, mounted, clients=True)

    async def lets_in(authority: Authority) -> bool:
        async with AsyncExitStack() as mine:
            caller = Caller(server.xds, old, authority.issue("edge"))
            stream = await caller.stream(mine, Variant.DELTA, node_of("n", cluster="g"))
            stream.ask("cds")
            await stream.until(lambda: stream.received)
            return True

    async def refuses(authority: Authority) -> bool:
        async with AsyncExitStack() as mine:
            stream = await Caller(server.xds, old, authority.issue("edge")).stream(mine, Variant.DELTA, node_of("n"))
            return (await stream.end(within=1))[0] is grpc.StatusCode.UNAVAILABLE

    assert await lets_in(old)
    assert await refuses(new)
    (mounted / "..next").symlink_to("2")
    os.replace(mounted / "..next", mounted / "..data")  # noqa: PTH105 - a link replaces a link
    serial = serial_of(ssl.PEM_cert_to_DER_cert((mounted / "2" / "tls.crt").read_text()))
    new.issue("probe").write(tmp_path)

    async def exchanged() -> bool:
        return await _shown(server, old, tmp_path) == serial

    await until(exchanged, within=RELOADED * SLACK, what="the second folder is in use", interval=0.1)
    assert await lets_in(new)
    assert await refuses(old)


@pytest.mark.parametrize(
    ("xds", "wanted"),
    [
        ({"tls": {"cert": "no.crt", "key": "tls.key"}}, "tidegate: xds.tls: no.crt can't be read: No such file"),
        ({"auth": {"clients": [{"token_file": "no"}]}}, "xds.auth.clients[0].token_file: no can't be read"),
    ],
)
async def test_a_credential_that_is_not_there_at_the_start_ends_the_server(
    tmp_path: Path, xds: dict[str, object], wanted: str
) -> None:
    plane = ControlPlane(tmp_path, settings={"xds": xds})
    with pytest.raises(ProcessEndedError) as caught:
        await plane.start()
    assert wanted in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert plane.child.returncode == 1


async def _closed_after(address: str, *, say: bytes = b"") -> float:
    """How long the server keeps a connection on which nothing more is said."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(say)
    started = time.monotonic()
    try:
        async with asyncio.timeout(10 * SLACK):
            while await reader.read(1000):
                pass
    finally:
        writer.close()
    return time.monotonic() - started


@pytest.mark.parametrize("say", [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], ids=["nothing", "preface"])
@pytest.mark.parametrize("security", ["plain", "tls"])
async def test_who_does_not_finish_the_handshake_is_dropped(
    stack: AsyncExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, security: str, say: bytes
) -> None:
    monkeypatch.setattr(stream_server, "HANDSHAKE_MS", 1000)
    Authority().issue(NAME).write(tmp_path)
    pair = Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key") if security == "tls" else None
    running = await stack.enter_async_context(inside(tls=watch_tls(Credentials(), "xds.tls", pair)))
    assert await _closed_after(running.xds, say=say) < 5 * SLACK


async def test_a_connection_without_a_call_is_ended(stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_server, "IDLE_MS", 1000)
    running = await stack.enter_async_context(inside())
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    assert await _closed_after(running.xds, say=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings) < 5 * SLACK


@pytest.mark.parametrize("variant", BOTH)
async def test_a_stream_on_which_nothing_is_asked_is_ended(stack: AsyncExitStack, variant: Variant) -> None:
    running = await stack.enter_async_context(inside(Limits(silence=0.5)))
    silent = await Caller(running.xds).stream(stack, variant, None)
    asks = await Caller(running.xds).stream(stack, variant, node_of("n"))
    asks.ask("cds")
    code, said = await silent.end()
    assert (code, said) == (grpc.StatusCode.DEADLINE_EXCEEDED, "nothing was asked on this stream")
    await asks.quiet("none", seconds=1)
    assert running.counts.rejections == {"silent": 1}


@pytest.mark.parametrize("variant", BOTH)
async def test_who_asks_too_often_is_ended_and_who_only_answers_is_not(stack: AsyncExitStack, variant: Variant) -> None:
    running = await stack.enter_async_context(inside(Limits(max_request_rate=5)))
    good = await Caller(running.xds).stream(stack, variant, node_of("good"))
    good.ask("cds")
    for mark in range(100):
        running.publish([marked("cds", "a", mark)])
        await good.holding("cds", {"a": mark})
    assert good.ended is None
    attempts, code, said = 0, grpc.StatusCode.INTERNAL, ""
    # An end that meets a write on its way is told by gRPC's client as an error of its own.
    while code is grpc.StatusCode.INTERNAL and attempts < 5:
        attempts += 1
        code, said = await _hammer(await Caller(running.xds).stream(stack, variant, node_of("bad"), answer=hold))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "xds.max_request_rate" in said
    assert running.counts.rejections["limit"] == attempts
    assert good.ended is None


async def _hammer(stream: Stream) -> tuple[grpc.StatusCode, str]:
    """Ask for something else every 10 ms until the stream ends: code and details."""
    for number in range(1000):
        if stream.ended is not None:
            break
        stream.ask("cds", f"{number}")
        await asyncio.sleep(0.01)
    return await stream.end()
