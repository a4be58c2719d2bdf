"""Bad input in files: what is wrong is told by file, document, line and field, and nothing good is lost."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from tests.conformance.client import SLACK, Stream
from tests.conformance.documents import World, marked
from tests.conformance.server import Clients, Server, restartable
from tests.conformance.wire import Variant
from tests.feature.many import each
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until
from xds_server.demo.world import assignment
from xds_server.demo.yaml_files import replace_file, to_yaml, write_documents

GOOD = """\
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: good
alt_stat_name: mark-1;
---
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: bad
"""

WRONG: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "unknown field": ("conect_timeout: 1s", "conect_timeout", ("connect_timeout",)),
    "wrong type": ("connect_timeout: {a: b}", "connect_timeout", ("expected",)),
    "wrong duration": ("connect_timeout: soon", "connect_timeout", ("expected", "duration")),
    "wrong enum": ("type: STATIK", "type", ("expected", "STATIC")),
    "number for a string": ("alt_stat_name: 7", "alt_stat_name", ("expected",)),
    "string for a number": (
        "per_connection_buffer_limit_bytes: many",
        "per_connection_buffer_limit_bytes",
        ("expected",),
    ),
    "number out of range": ("per_connection_buffer_limit_bytes: -1", "per_connection_buffer_limit_bytes", ()),
    "list for a message": ("upstream_bind_config: [1]", "upstream_bind_config", ("expected",)),
    "message for a list": ("health_checks: {}", "health_checks", ("expected",)),
    "deep inside": (
        "load_assignment: {cluster_name: x, endpoints: [{lb_endpoints: [{endpoint: {addrexs: {}}}]}]}",
        "load_assignment.endpoints[0].lb_endpoints[0].endpoint.addrexs",
        ("address",),
    ),
    "two of one kind": ("type: EDS\ncluster_type: {name: x}", "cluster_type", ()),
    "unknown type in an Any": (
        'transport_socket: {name: x, typed_config: {"@type": type.googleapis.com/envoy.Nothing}}',
        "transport_socket.typed_config.@type",
        ("envoy.Nothing",),
    ),
}
"""Lines that are added to a cluster → the field that the error names, and words that it holds."""


async def _good(clients: Clients, world: World) -> Stream:
    """A stream that holds cluster `good`."""
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.until(lambda: "good" in stream.names_of("cds"))
    return stream


async def _errors(server: Server, world: World) -> list[Json]:
    async def found() -> list[Json]:
        return await server.errors(world)

    return await until(found, within=3 * SLACK, what="an error is told")


async def test_the_error_says_file_document_line_and_field(server: Server, clients: Clients) -> None:
    async def check(what: str) -> None:
        lines, field, words = WRONG[what]
        world = server.world()
        replace_file(world.folder / "clusters.yaml", GOOD + lines + "\n")
        stream = await _good(clients, world)
        (error,) = await _errors(server, world)
        assert error["path"].endswith(f"{world.folder.name}/clusters.yaml")
        assert (error["document"], error["line"]) == (2, 7 + lines.count("\n"))
        assert error["field"] == field
        assert all(word in error["message"] for word in words), error["message"]
        assert stream.names_of("cds") == {"good"}
        replace_file(world.folder / "clusters.yaml", GOOD)
        await stream.until(lambda: stream.names_of("cds") == {"good", "bad"})
        assert not await server.errors(world)

    await each(WRONG, check)


BROKEN: dict[str, bytes] = {
    "a tab": b"a:\n\t- b\n",
    "an open bracket": b"resources: [\n  - {\n",
    "an open quote": b'name: "x\n',
    "bad indentation": b"a: 1\n  b: 2\n",
    "an unknown anchor": b"a: *nothing\n",
    "a key twice": b'"@type": x\nname: a\nname: b\n',
    "a python object": b"!!python/object/apply:os.system ['true']\n",
    "not UTF-8": b"name: \xff\xfe\xfd\n",
    "binary garbage": random.Random(1).randbytes(20_000),
    "nul bytes": b"\x00" * 1000,
    "a billion laughs": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(ord("b"), ord("j"))),
    "very deep": b"[" * 20_000 + b"]" * 20_000,
    "nothing at all": b"",
    "a scalar": b"hello\n",
    "a list": b"- a\n- b\n",
    "no type": b"name: a\n",
    "an unknown type": b'"@type": type.googleapis.com/envoy.config.cluster.v3.Clusterx\nname: a\n',
    "a v2 type": b'"@type": type.googleapis.com/envoy.api.v2.Cluster\nname: a\n',
    "a type without a name": b'"@type": type.googleapis.com/envoy.config.core.v3.Node\nid: a\n',
    "no name": b'"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\n',
}


@pytest.mark.parametrize("ending", ["yaml", "json"])
async def test_a_broken_file_is_told_and_keeps_its_last_good(server: Server, clients: Clients, ending: str) -> None:
    async def check(what: str) -> None:
        world = server.world()
        world.write("good", marked("cds", "good", 1))
        file = world.folder / f"broken.{ending}"
        resources = {"resources": [marked("cds", "before", 1)]}
        replace_file(file, json.dumps(resources) if ending == "json" else to_yaml(resources))
        stream = await _good(clients, world)
        await stream.holding("cds", {"good": 1, "before": 1})
        temporary = file.with_suffix(".tmp")
        temporary.write_bytes(BROKEN[what])
        temporary.replace(file)
        error = (await _errors(server, world))[0]
        assert error["path"].endswith(f"{world.folder.name}/broken.{ending}")
        assert error["message"]
        world.write("good", marked("cds", "good", 2))
        await stream.holding("cds", {"good": 2, "before": 1})

    await each(BROKEN, check)


SLIPS: dict[str, str] = {
    "in the type": to_yaml({**marked("cds", "a", 2), "@type": "type.googleapis.com/envoy.config.cluster.v3.Clusterx"}),
    "no type": to_yaml({"name": "a", "alt_stat_name": "mark-2;"}),
    "in a field": to_yaml({**marked("cds", "a", 2), "conect_timeout": "1s"}),
    "another prefix and a slip": to_yaml(
        {**marked("cds", "a", 2), "@type": "x/envoy.config.cluster.v3.Cluster", "z": 1}
    ),
    "a slip in the list": to_yaml({"resources": [{**marked("cds", "a", 2), "conect_timeout": "1s"}]}),
    "a slip in a type in the list": to_yaml({"resources": [{**marked("cds", "a", 2), "@type": "x"}]}),
    "no mapping in the list": to_yaml({"resources": ["a"]}),
    "another key for the list": to_yaml({"resourcez": [marked("cds", "a", 2)]}),
}
"""What becomes of the document that declares `a`."""


async def test_a_slip_in_one_document_loses_neither_it_nor_others(server: Server, clients: Clients) -> None:
    async def check(what: str) -> None:
        world = server.world()
        file = world.folder / "two.yaml"
        replace_file(file, to_yaml(marked("cds", "a", 1), marked("cds", "good", 1)))
        stream = await clients.stream(Variant.SOTW, world)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1, "good": 1})
        replace_file(file, SLIPS[what] + "---\n" + to_yaml(marked("cds", "good", 2)))
        await _errors(server, world)
        await stream.holding("cds", {"a": 1, "good": 2})
        replace_file(file, to_yaml(marked("cds", "a", 3), marked("cds", "good", 3)))
        await stream.holding("cds", {"a": 3, "good": 3})
        assert not await server.errors(world)

    await each(SLIPS, check)


async def test_a_slip_in_an_assignment(server: Server, clients: Clients, world: World) -> None:
    world.write("a", marked("eds", "a", 1))
    stream = await clients.stream(Variant.SOTW, world)
    stream.ask("eds", "a")
    await stream.holding("eds", {"a": 1})
    world.write("a", {**marked("eds", "a", 2), "name": "no field of an assignment"})
    (error,) = await _errors(server, world)
    assert error["field"] == "name"
    assert await server.left_out(world) == {"a": "UnknownField"}
    probe = await clients.stream(Variant.SOTW, world)
    probe.ask("eds", "a")
    await probe.holding("eds", {"a": 1})


ODD: dict[str, tuple[str, str]] = {
    "infinity": ("odd.yaml", to_yaml({**marked("cds", "a", 2), "per_connection_buffer_limit_bytes": float("inf")})),
    "not a number": ("odd.yaml", to_yaml({**marked("cds", "a", 2), "per_connection_buffer_limit_bytes": float("nan")})),
    "a huge number": ("odd.yaml", to_yaml({**marked("cds", "a", 2), "per_connection_buffer_limit_bytes": 10**30})),
    "half a surrogate pair as a type": ("odd.json", '{"resources": [{"@type": "\\ud800", "name": "a"}]}'),
    "half a surrogate pair as an enum": (
        "odd.json",
        json.dumps({"resources": [{**marked("cds", "a", 2), "type": "SURROGATE"}]}).replace("SURROGATE", "\\ud800"),
    ),
    "a key that is no string": ("odd.yaml", to_yaml({**marked("cds", "a", 2), 7: 7, "metadata": {1: 2}})),
}
"""Values over which decoders have stumbled."""


async def test_values_over_which_decoders_stumble(server: Server, clients: Clients) -> None:
    async def check(what: str) -> None:
        world = server.world()
        world.write("good", marked("cds", "good", 1))
        stream = await _good(clients, world)
        name, text = ODD[what]
        replace_file(world.folder / name, text)
        (error,) = await _errors(server, world)
        assert error["path"].endswith(f"{world.folder.name}/{name}")
        assert error["line"] >= 1 or name.endswith("json")
        world.write("good", marked("cds", "good", 2))
        await stream.holding("cds", {"good": 2})

    await each(ODD, check)


async def test_a_cluster_of_5_mb(server: Server, clients: Clients, world: World) -> None:
    endpoints = [f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:80" for number in range(35_000)]
    big = marked("cds", "big", 1)
    big["load_assignment"] = {key: value for key, value in assignment("big", endpoints).items() if key != "@type"}
    text = json.dumps({"resources": [big]})
    assert len(text) > 3_000_000
    big["metadata"] = {"filter_metadata": {"padding": {"bytes": "x" * (5_000_000 - len(text))}}}
    world.write("good", marked("cds", "good", 1))
    streams = [await _good(clients, world)]
    replace_file(world.folder / "big.json", json.dumps({"resources": [big]}))
    await streams[0].until(lambda: "big" in streams[0].names_of("cds"), within=20)
    world.write("good", marked("cds", "good", 2))
    await streams[0].holding("cds", {"good": 2, "big": 1}, within=10)
    sotw = await clients.stream(Variant.SOTW, world)
    sotw.ask("cds")
    await sotw.holding("cds", {"good": 2, "big": 1}, within=10)


async def test_a_thousand_files(server: Server, clients: Clients, world: World) -> None:
    for number in range(1000):
        (world.folder / f"{number:04}.yaml").write_text(to_yaml(marked("cds", f"c-{number:04}", 0)))
    stream = await clients.stream(Variant.DELTA, world)
    stream.ask("cds")
    await stream.until(lambda: len(stream.names_of("cds")) == 1000, within=20)
    stream.skip()
    world.write("0500", marked("cds", "c-0500", 1))
    response = await stream.next("cds", within=2)
    assert response.names == {"c-0500"}
    shutil.rmtree(world.folder)
    await stream.until(lambda: not stream.names_of("cds"), within=10)


@pytest.mark.timeout(120)
async def test_an_empty_directory_and_one_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    async with restartable(tmp_path) as server, server.clients() as clients:
        stream = await clients.stream(Variant.SOTW, None)
        stream.ask("cds")
        assert not (await stream.next("cds")).names, "an empty directory is a world without resources"
        write_documents(server.files / "a.yaml", [marked("cds", "good", 1)])
        await stream.holding("cds", {"good": 1})
        hidden = server.files.with_name("hidden")
        server.files.rename(hidden)

        async def missed() -> bool:
            (source,) = (await server.get("/v1/sources"))["sources"]
            return bool(source["error"])

        await until(missed, within=5 * SLACK, what="the missing directory is told")
        await stream.quiet(seconds=1)
        assert stream.names_of("cds") == {"good"}
        hidden.rename(server.files)
        write_documents(server.files / "a.yaml", [marked("cds", "good", 2)])
        await stream.holding("cds", {"good": 2}, within=5)

        async def recovered() -> bool:
            return not await missed()

        await until(recovered, within=5 * SLACK, what="the error is gone")


async def test_odd_files_are_left_alone(server: Server, clients: Clients, world: World, tmp_path: Path) -> None:
    """Pipes, sockets, dead and circular links, folders named like files, hidden and foreign files, no permission."""
    folder = world.folder
    os.mkfifo(folder / "pipe.yaml")
    (folder / "dead.yaml").symlink_to("nowhere.yaml")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "circle").symlink_to(folder)
    (folder / "folder.yaml").mkdir()
    for name in (".hidden.yaml", "notes.txt", "back.yaml~", "empty.yaml"):
        (folder / name).write_text("" if name == "empty.yaml" else "{{{")
    world.write("good", marked("cds", "good", 1))
    stream = await _good(clients, world)
    await asyncio.sleep(0.8)
    assert stream.names_of("cds") == {"good"}
    told = {each["path"].rpartition("/")[2] for each in await server.errors(world)}
    assert told <= {"pipe.yaml", "dead.yaml", "loop.yaml"}
