"""Preflight with real Envoys: what Envoy refuses is left out before any node sees it, the rest is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet
from tests.support.publishers import LISTENER, ROUTES, FilePublisher, site
from tests.support.watching import ask
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.world import Document, assignment, cluster, listener, refused_route, route, routes
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

PREFLIGHT = {"preflight": {"enabled": True, "timeout": "20s"}}
LUA = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua"


def with_bad_regex(good: list[Document]) -> list[Document]:
    return [*good[:3], routes(ROUTES, [refused_route("start"), route("start")])]


def with_equal_domains(good: list[Document]) -> list[Document]:
    table = routes(ROUTES, [route("start")])
    table["virtual_hosts"][0]["domains"] = ["*", "example.com", "example.com"]
    return [*good[:3], table]


def with_bad_script(good: list[Document]) -> list[Document]:
    spoilt = listener(LISTENER, ROUTES)
    manager = spoilt["filter_chains"][0]["filters"][0]["typed_config"]
    script = {"@type": LUA, "default_source_code": {"inline_string": "function envoy_on_request("}}
    manager["http_filters"].insert(0, {"name": "lua", "typed_config": script})
    return [*good[:2], spoilt, good[3]]


def with_impossible_balancing(good: list[Document]) -> list[Document]:
    return [cluster("start", lb_policy="CLUSTER_PROVIDED"), *good[1:]]


async def left_out(plane: ControlPlane, *, after: int) -> dict[str, Any]:
    """What the group leaves out in the version after that one; it is one thing."""

    async def told() -> dict[str, Any] | None:
        group = await plane.group()
        return group if group["seq"] > after and group["left_out"] else None

    group = await until(told, within=20, what="something is left out")
    (found,) = group["left_out"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("kind", "spoil", "words"),
    [
        ("rds", with_bad_regex, "missing ]"),
        ("rds", with_equal_domains, "Duplicate entry of domain example.com"),
        ("lds", with_bad_script, "script load error"),
        ("cds", with_impossible_balancing, "cluster provided LB"),
    ],
    ids=["regex", "domains", "script", "balancing"],
)
async def test_what_only_envoy_refuses_is_left_out_and_the_rest_is_served(
    fleet: Fleet, backends: list[Backend], kind: str, spoil: Any, words: str
) -> None:
    plane = fleet.tidegate(PREFLIGHT)
    await plane.start()
    envoys = await fleet.both(plane.xds)
    publisher = FilePublisher(plane, nodes=2)
    good = site("start", backends[0])
    await publisher.publish(good)
    before = await plane.group()
    async with Load(await fleet.urls(LISTENER), rate=50) as load:
        others = [cluster("other"), assignment("other", [backends[1].port])]
        write_documents(plane.files / "world.yaml", [*spoil(good), *others])
        found = await left_out(plane, after=before["seq"])
        assert found["reason"] == "RefusedByEnvoy"
        assert found["type"] == kind
        assert words in found["message"]
        assert found["origin"][0]["path"].endswith("world.yaml")
        group = await plane.programmed(after=before["seq"], nodes=2)
        assert group["counts"]["cds"] == 2
        assert kind == "cds" or group["types"][kind] == before["types"][kind]
        await publisher.publish(site("repaired", backends[1]))
    assert load.failed == 0, load.failures()
    group = await plane.group()
    assert group["left_out"] == []
    for envoy in envoys:
        node = await plane.node(envoy.node)
        assert [state["nacked"] for state in node["types"].values()] == [None] * len(node["types"])
    for url in (await fleet.urls(LISTENER)).values():
        assert await ask(url) == (200, "green")


async def test_without_a_checker_all_is_served_and_that_is_told(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate({"preflight": {"enabled": True, "envoy": "/nowhere/envoy"}})
    await plane.start()
    await fleet.both(plane.xds)
    await FilePublisher(plane, nodes=2).publish(site("start", backends[0]))
    for url in (await fleet.urls(LISTENER)).values():
        assert await ask(url) == (200, "blue")
    _, metrics = await plane.request("/metrics")
    assert 'tidegate_preflight_checks_total{outcome="unavailable"} 1.0' in metrics
    assert "preflight_unavailable" in plane.child.tail(100)


async def test_what_preflight_refused_is_built_and_not_published_and_a_restart_changes_nothing(
    fleet: Fleet, backends: list[Backend], tmp_path: Path
) -> None:
    plane = fleet.tidegate({**PREFLIGHT, "state_dir": str(tmp_path / "state")})
    await plane.start()
    await fleet.both(plane.xds)
    publisher = FilePublisher(plane, nodes=2)
    good = site("start", backends[0])
    await publisher.publish(good)
    before = await plane.group()
    async with Load(await fleet.urls(LISTENER), rate=50) as load:
        write_documents(plane.files / "world.yaml", with_bad_regex(good))
        await left_out(plane, after=before["seq"])
        served = await plane.group()
        assert served["types"] == before["types"]
        await plane.stop()
        await plane.start()
        again = await left_out(plane, after=before["seq"])
        assert again["reason"] == "RefusedByEnvoy"
        assert (await plane.programmed(nodes=2, within=30))["version"] == served["version"]
        await publisher.publish(site("repaired", backends[1]))
    assert load.failed == 0, load.failures()
