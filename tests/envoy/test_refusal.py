"""A configuration that Envoy refuses: the old one stays, the refusal is told, nothing loops, the next one heals."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.support.fleet import Fleet
from tests.support.publishers import LISTENER, ROUTES, FilePublisher, site
from tests.support.watching import ask, refusal, updates
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.world import (
    Document,
    assignment,
    cluster,
    listener,
    refused_route,
    route,
    routes,
    transport_socket,
)
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

QUIET = 2.0
"""How long nothing may be sent again, in seconds."""


def with_bad_regex(documents: list[Document]) -> list[Document]:
    return [*documents[:3], routes(ROUTES, [refused_route("start"), route("start")])]


def with_equal_filter_chains(documents: list[Document]) -> list[Document]:
    chains = documents[2]["filter_chains"] * 2
    return [*documents[:2], listener(LISTENER, ROUTES, filter_chains=chains), documents[3]]


def with_impossible_balancing(documents: list[Document]) -> list[Document]:
    return [cluster("start", lb_policy="CLUSTER_PROVIDED"), *documents[1:]]


@pytest.mark.parametrize(
    ("kind", "spoil", "words"),
    [
        ("rds", with_bad_regex, "missing ]"),
        ("lds", with_equal_filter_chains, "filter chain"),
        ("cds", with_impossible_balancing, "cluster provided LB"),
    ],
)
async def test_a_refused_configuration(
    fleet: Fleet, backends: list[Backend], kind: str, spoil: partial[list[Document]], words: str
) -> None:
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    publisher = FilePublisher(plane, nodes=2)
    good = site("start", backends[0])
    await publisher.publish(good)
    accepted = (await plane.group())["types"][kind]["version"]
    urls = await fleet.urls(LISTENER)
    async with Load(urls, rate=50) as load:
        before = await plane.sequence()
        write_documents(plane.files / "world.yaml", spoil(good))
        await _is_told_and_not_repeated(plane, envoys, kind, words, accepted=accepted, after=before)
        await publisher.publish(site("repaired", backends[1]))
    assert load.failed == 0, load.failures()
    assert (await plane.group())["nodes"] == {"connected": 2, "acked": 2, "nacked": 0}
    for url in urls.values():
        assert await ask(url) == (200, "green")


async def test_a_key_that_envoy_prints_with_what_it_refuses_is_shown_nowhere(fleet: Fleet) -> None:
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    pair = {"certificate_chain": {"inline_string": "public"}, "private_key": {"inline_string": "planted-marker\n"}}
    tls = transport_socket("UpstreamTlsContext", {"common_tls_context": {"tls_certificates": [pair]}})
    broken = cluster("broken", connect_timeout="0s", transport_socket=tls)
    write_documents(plane.files / "world.yaml", [broken, assignment("broken", [1])])
    for envoy in envoys:
        said = (await refusal(plane, envoy.node, "cds", after=0))["error"]["message"]
        assert "ConnectTimeout" in said
        assert "planted-marker" not in said
    shown = [(await plane.request(f"/v1/{path}"))[1] for path in ("nodes", "groups", "events?follow=false", "audit")]
    assert "planted-marker" not in "".join(shown) + plane.child.log.read_text()
    assert any("planted-marker" in envoy.child.log.read_text() for envoy in envoys), "Envoy prints it itself"


async def _is_told_and_not_repeated(
    plane: ControlPlane, envoys: list[Envoy], kind: str, words: str, *, accepted: str, after: int
) -> None:
    for envoy in envoys:
        told = await refusal(plane, envoy.node, kind, after=after)
        assert words.lower() in told["error"]["message"].lower()
        assert told["nonce"]
        state = (await plane.node(envoy.node))["types"][kind]
        assert state["acked"]["version"] == accepted
    group = await plane.group()
    assert not group["programmed"]
    assert group["nodes"]["nacked"] == len(envoys)
    counts = [await updates(envoy) for envoy in envoys]
    await asyncio.sleep(QUIET)
    assert [await updates(envoy) for envoy in envoys] == counts


async def test_endpoints_flow_while_routes_are_refused(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    good = site("start", backends[0])
    await FilePublisher(plane, nodes=2).publish(good)
    urls = await fleet.urls(LISTENER)
    before = await plane.sequence()
    bad = with_bad_regex(good)
    write_documents(plane.files / "world.yaml", bad)
    for envoy in envoys:
        await refusal(plane, envoy.node, "rds", after=before)
    write_documents(plane.files / "world.yaml", [bad[0], assignment("start", [backends[1].port]), *bad[2:]])
    for envoy in envoys:

        async def served(url: str = urls[envoy.node]) -> bool:
            return await ask(url) == (200, "green")

        await until(served, within=2, what=f"{envoy.node} serves the new endpoint")
    rejected = [await envoy.stats(f"rds.{ROUTES}.update_rejected") for envoy in envoys]
    assert [sum(counters.values()) for counters in rejected] == [1, 1]


async def test_a_route_to_a_refused_cluster_waits(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    await plane.start()
    envoys = await fleet.both(plane.xds)
    publisher = FilePublisher(plane, nodes=2)
    await publisher.publish(site("start", backends[0]))
    async with Load(await fleet.urls(LISTENER), rate=50) as load:
        before = await plane.sequence()
        bad = site("refused", backends[1])
        bad[0] = cluster("refused", lb_policy="CLUSTER_PROVIDED")
        write_documents(plane.files / "world.yaml", bad)
        for envoy in envoys:
            await refusal(plane, envoy.node, "cds", after=before)
        await asyncio.sleep(QUIET)
        for tally in load.tallies.values():
            assert set(tally.answered_by) == {"blue"}
        await publisher.publish(site("repaired", backends[1]))
    assert load.failed == 0, load.failures()
