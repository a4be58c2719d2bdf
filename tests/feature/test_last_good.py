"""The last known good: served at once after a start, whatever state the sources and the files are in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import SLACK, Stream
from tests.conformance.documents import World, edge, marked, service
from tests.conformance.follow import follow, start
from tests.conformance.server import Clients, Restartable, Server, restartable
from tests.conformance.wire import BOTH, Variant
from tests.feature.restarts import (
    FOLLOWED,
    bring_back,
    come_back,
    contents_of,
    keeping,
    on_disk,
    segments_of,
    send,
    take_away,
)
from tests.support.counts import long_or_short
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.processes import ProcessEndedError
from xds_server.demo.world import cluster, listener, routes, secret_reference, transport_socket
from xds_server.stream.sequencer import MOMENT

pytestmark = pytest.mark.timeout(180)

KEY = "-----BEGIN PRIVATE KEY-----\nplanted-marker-1\n-----END PRIVATE KEY-----\n"


async def restart_without_files(server: Restartable) -> Path:
    await server.plane.child.kill()
    away = take_away(server)
    await server.plane.start()
    return away


async def quiet(streams: Iterable[Stream], seconds: float) -> list[dict[str, set[str]]]:
    """What has come on each stream after so many seconds."""
    await asyncio.sleep(seconds)
    return [{key: set().union(*(each.names for each in stream.of(key))) for key in FOLLOWED} for stream in streams]


async def test_k20_restarts_with_sources_away_resend_nothing_and_take_nothing_away(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "g")
        world.write("world", *service("x"), *edge("edge", "x"))
        group = await server.served(world)
        before = [await Clients(server.xds, stack).stream(each, world, each.value, answer=follow) for each in BOTH]
        for stream in before:
            start(stream)
            await stream.until(lambda stream=stream: stream.names_of("rds") and stream.names_of("eds"))  # type: ignore[misc]
        await on_disk(server, world.group)
        for _ in range(long_or_short(10, 3)):
            away = await restart_without_files(server)
            again = await server.group(world)
            assert (again["version"], again["seq"], again["created"]) == (group["version"], 1, group["created"])
            assert not await is_synced(server)
            after = [await Clients(server.xds, stack).stream(each, world, each.value, answer=follow) for each in BOTH]
            for stream, former in zip(after, before, strict=True):
                come_back(stream, former)
            sotw = after[0]
            await sotw.until(lambda sotw=sotw: sotw.of("eds") and sotw.of("rds"))  # type: ignore[misc]
            assert await quiet(after, 2 * MOMENT) == [
                # For types asked for by name, the version does not tell which names a SotW client holds.
                {"cds": set(), "lds": set(), "eds": {"x"}, "rds": {"edge-routes"}},
                {"cds": set(), "lds": set(), "eds": set(), "rds": set()},
            ]
            counts = [len(stream.received) for stream in after]
            bring_back(server, away)
            await until(lambda: is_synced(server), within=10 * SLACK, what="the files are read")
            await quiet(after, 0.2)
            assert [len(stream.received) for stream in after] == counts, "equal content, so nothing is sent"
            assert not any(each.removed for stream in after for each in stream.received)
        assert (await server.group(world))["seq"] == 1


async def is_synced(server: Restartable) -> bool:
    return bool((await server.get("/v1/sources"))["sources"][0]["synced"])


async def test_k20_without_anything_stored_nothing_is_sent_and_readiness_is_off(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, settings={"state_dir": str(tmp_path / "state")})
    server = Restartable(plane)
    away = take_away(server)
    try:
        await plane.start(ready=False)
        async with AsyncExitStack() as stack:
            streams = [await Clients(plane.xds, stack).stream(variant) for variant in BOTH]
            for stream in streams:
                stream.ask("cds")
            await asyncio.sleep(0.5)
            assert not await plane.ready()
            assert not any(stream.received for stream in streams)
            bring_back(server, away)
            for stream in streams:
                await stream.next("cds")
            assert await plane.ready()
    finally:
        await plane.stop()


@pytest.mark.parametrize("state", ["empty", "broken", "half"])
async def test_sources_that_are_empty_or_broken_after_a_start_take_nothing_away(tmp_path: Path, state: str) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        world.write("one", *service("x"))
        world.write("two", *service("y"))
        await until(lambda: counted(server, world, 2), within=10 * SLACK, what="both files are served")
        version = (await server.group(world))["version"]
        await on_disk(server, world.group)
        await server.plane.child.kill()
        if state == "empty":
            for file in world.folder.iterdir():
                file.unlink()
        else:
            (world.folder / "one.yaml").write_text("a: [")
        if state == "broken":
            (world.folder / "two.yaml").write_text("\t")
        await server.plane.start()
        reason = "NothingDeclared" if state == "empty" else "InvalidSyntax"
        await until(lambda: tells(server, reason), within=10 * SLACK, what="the files are read, and that is told")
        assert (await server.group(world))["version"] == version
        world.write("two", *service("z"))
        await until(lambda: counted(server, world, 2), within=10 * SLACK, what="the change is served")


async def tells(server: Server, reason: str) -> bool:
    (source,) = (await server.get("/v1/sources"))["sources"]
    return {each["reason"] for each in source["errors"]} == {reason}


async def counted(server: Server, world: World, clusters: int) -> bool:
    group = await server.group(world)
    return bool(group.get("counts", {}).get("cds") == clusters)


async def test_a_damaged_file_is_told_and_set_aside_and_the_one_before_it_is_used(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        versions = []
        for number in range(3):
            world.write("world", marked("cds", "a", number))
            versions.append((await server.served(world, after=number))["version"])
        await on_disk(server, world.group)
        await server.plane.child.kill()
        newest = segments_of(tmp_path)[-1]
        raw = bytearray(newest.read_bytes())
        raw[60] ^= 0xFF
        newest.write_bytes(raw)
        away = take_away(server)
        await server.plane.start()
        assert (await server.group(world))["version"] == versions[0]
        assert await server.metric("tidegate_state_files_damaged") == 1
        entry = (await acts(server))[0]
        assert (entry["action"], entry["target"]) == ("state_damaged", str(newest))
        assert bytes(raw) in contents_of(tmp_path), "kept for people to look at"
        bring_back(server, away)
        await until(lambda: served_is(server, world, versions[2]), within=10 * SLACK, what="the files are served")
        assert (await server.group(world))["seq"] == 2, "numbers go on from what was found"


async def acts(server: Server) -> list[Any]:
    """The audit log without versions, and without the ports, which are others after the first start."""
    entries = (await server.get("/v1/audit"))["entries"]
    return [each for each in entries if each["action"] not in {"version", "setting"}]


async def served_is(server: Server, world: World, version: str) -> bool:
    return bool((await server.group(world))["version"] == version)


async def test_planted_secrets_are_nowhere_in_the_state_and_come_back_with_their_source(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "g")
        inline = transport_socket(
            "UpstreamTlsContext", {"common_tls_context": {"tls_certificates": [certificate(KEY)]}}
        )
        world.write(
            "world",
            {"@type": SECRET, "name": "edge-secret", "tls_certificate": certificate(KEY)},
            cluster("with-key", type="STATIC", eds_cluster_config=None, transport_socket=inline),
            cluster("with-password", type="STATIC", eds_cluster_config=None, metadata=PASSWORD),
            listener("edge", "edge-routes", tls=secret_reference("edge-secret")),
            routes("edge-routes", []),
        )
        await server.served(world)
        group = await server.group(world)
        await on_disk(server, world.group)
        away = await restart_without_files(server)
        assert not [content for content in contents_of(tmp_path) if b"planted-marker" in content]
        again = await server.group(world)
        assert (again["version"], again["types"]) == (group["version"], group["types"])
        told = [(each["type"], each["name"], each["reason"]) for each in again["left_out"]]
        assert told == [
            (*of, "NotStored") for of in (("cds", "with-key"), ("cds", "with-password"), ("sds", "edge-secret"))
        ]
        assert all(each["origin"] for each in again["left_out"])
        assert await server.metric("tidegate_resources_left_out", group=world.group) == 3
        streams = [await Clients(server.xds, stack).stream(variant, world, answer=follow) for variant in BOTH]
        for stream in streams:
            start(stream)
            await stream.until(lambda stream=stream: stream.names_of("lds"))  # type: ignore[misc]
        await asyncio.sleep(0.4)
        assert [stream.names_of("sds") for stream in streams] == [set(), set()]
        assert [stream.names_of("cds") for stream in streams] == [set(), set()]
        bring_back(server, away)
        for stream in streams:
            await stream.until(lambda stream=stream: stream.names_of("sds") == {"edge-secret"})  # type: ignore[misc]
            await stream.until(
                lambda stream=stream: stream.names_of("cds") == {"with-key", "with-password"}  # type: ignore[misc]
            )
        filled_in = await server.group(world)
        assert (filled_in["seq"], filled_in["left_out"]) == (group["seq"], [])


async def test_encrypted_secrets_are_there_at_once_and_not_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("something that nobody can guess\n")
    history = {"secrets": "encrypt", "key_file": str(tmp_path / "key")}
    async with keeping(tmp_path, history) as server, AsyncExitStack() as stack:
        world = World(server.files, "g")
        world.write("world", {"@type": SECRET, "name": "cert", "tls_certificate": certificate(KEY)})
        await server.served(world)
        await on_disk(server, world.group)
        await restart_without_files(server)
        assert not [content for content in contents_of(tmp_path) if b"planted-marker" in content]
        for variant in BOTH:
            stream = await Clients(server.xds, stack).stream(variant, world)
            stream.ask("sds", "cert")
            assert (await stream.next("sds")).names == {"cert"}


async def test_a_rollback_holds_over_a_restart_and_endpoints_flow(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        world = World(server.files, "g")
        world.write("world", *service("x"), *edge("edge", "x"))
        first = await server.served(world)
        world.write("world", *service("y"), *edge("edge", "y"))
        second = await server.served(world, after=1)
        held = await send(server, "POST", "v1", "groups", world.group, "rollback", to=first["version"], reason="slow")
        assert held["version"] == first["version"]
        assert held["held"]["to"] == first["version"]
        await server.plane.child.kill()
        await server.plane.start()
        await until(lambda: is_synced(server), within=10 * SLACK, what="the files are read")
        assert (await server.group(world))["held"] == held["held"]
        assert (await server.group(world))["version"] == first["version"]
        assert await server.metric("tidegate_group_held", group=world.group) == 1
        world.write("world", *service("y"), *edge("edge", "y"), *service("x", endpoints=(1, 2))[1:])
        moved = await server.served(world, after=held["seq"])
        assert moved["types"]["cds"] == first["types"]["cds"]
        assert moved["types"]["rds"] == first["types"]["rds"]
        assert moved["types"]["eds"] != first["types"]["eds"]
        assert moved["held"] == held["held"]
        released = await send(server, "DELETE", "v1", "groups", world.group, "rollback", reason="repaired")
        assert released["held"] is None
        assert released["types"]["cds"] == second["types"]["cds"]
        assert [each["action"] for each in await acts(server)] == ["release", "rollback"]


async def test_what_is_held_can_be_looked_at_and_gone_back_to_however_many_changes_later(tmp_path: Path) -> None:
    async with keeping(tmp_path, {"count": 2}) as server:
        world = World(server.files, "g")
        world.write("world", *service("x"), *edge("edge", "x"))
        first = await server.served(world)
        world.write("world", *service("y"), *edge("edge", "y"))
        await server.served(world, after=1)
        path = ("v1", "groups", world.group, "rollback")
        held = await send(server, "POST", *path, to=1, reason="slow")
        for number in range(1, 7):
            ports = tuple(range(1, number + 2))
            world.write("world", *service("y"), *edge("edge", "y"), *service("x", endpoints=ports)[1:])
            await server.served(world, after=held["seq"] + number - 1)
        await on_disk(server, world.group)
        for _ in range(2):
            versions = (await server.get(f"/v1/groups/{world.group}/versions"))["versions"]
            assert [each["seq"] for each in versions] == [9, 8, 1]
            shown = await server.get(f"/v1/groups/{world.group}/versions/{held['held']['to']}")
            assert shown["version"] == first["version"]
            await server.plane.child.kill()
            await server.plane.start()
        again = await send(server, "POST", *path, to=held["held"]["to"], reason="still slow")
        assert again["held"]["to"] == first["version"]


@pytest.mark.parametrize("variant", BOTH)
async def test_a_rollback_reaches_the_nodes_in_the_right_order(tmp_path: Path, variant: Variant) -> None:
    async with keeping(tmp_path) as server, AsyncExitStack() as stack:
        world = World(server.files, "g")
        world.write("world", *service("x"), *edge("edge", "x"))
        first = await server.served(world)
        stream = await Clients(server.xds, stack).stream(variant, world, answer=follow)
        start(stream)
        await stream.until(lambda: stream.names_of("rds"))
        world.write("world", *service("y"), *edge("edge", "y"))
        await stream.until(lambda: stream.names_of("cds") == {"y"})
        await send(server, "POST", "v1", "groups", world.group, "rollback", to="1", reason="slow")
        await stream.until(lambda: stream.names_of("cds") == {"x"})
        await until(lambda: in_sync(server, world), within=5 * SLACK, what="the node is in sync")
        assert (await server.group(world))["version"] == first["version"]


async def in_sync(server: Server, world: World) -> bool:
    return bool((await server.group(world))["programmed"])


async def test_a_second_process_on_one_directory_ends_with_an_error(tmp_path: Path) -> None:
    async with keeping(tmp_path) as server:
        other = ControlPlane(tmp_path / "other", settings={"state_dir": str(tmp_path / "state")})
        (tmp_path / "other").mkdir(exist_ok=True)
        with pytest.raises(ProcessEndedError, match=r"state_dir: .* is in use by another process"):
            await other.start()
        await other.stop()
        assert await server.plane.ready()


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ({"secrets": "encrypt"}, r"history\.key_file: expected a file with the key"),
        ({"secrets": "encrypt", "key_file": "/nowhere/key"}, r"history\.key_file: can't read /nowhere/key"),
    ],
)
async def test_a_key_that_is_not_there_is_told_at_the_start(tmp_path: Path, history: dict[str, str], told: str) -> None:
    plane = ControlPlane(tmp_path, settings={"state_dir": str(tmp_path / "state"), "history": history})
    with pytest.raises(ProcessEndedError, match=told):
        await plane.start()
    await plane.stop()


SECRET = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
PASSWORD = {"filter_metadata": {"app": {"password": "planted-marker-2"}}}


def certificate(key: str) -> dict[str, object]:
    return {"certificate_chain": {"inline_string": "public"}, "private_key": {"inline_string": key}}


async def test_a_setting_that_changed_since_the_last_start_is_in_the_audit_log(tmp_path: Path) -> None:
    async with restartable(tmp_path, {"state_dir": str(tmp_path / "state"), "xds": {"max_names": 500}}) as server:
        await server.restart()
        assert await _settings_told(server) == []
    async with restartable(tmp_path, {"state_dir": str(tmp_path / "state"), "xds": {"max_names": 600}}) as server:
        assert await _settings_told(server) == [("configuration", "xds.max_names")]


async def _settings_told(server: Restartable) -> list[tuple[str, str]]:
    entries = (await server.get("/v1/audit"))["entries"]
    ports = {"xds.address", "admin.address"}  # Every start of these tests has others.
    told = [
        (entry["actor"], set(entry["target"].split(", ")) - ports) for entry in entries if entry["action"] == "setting"
    ]
    return [(actor, ", ".join(sorted(keys))) for actor, keys in told if keys]
