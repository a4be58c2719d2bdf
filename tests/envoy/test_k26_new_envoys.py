"""K26 with real Envoys: one refuses, and an Envoy that comes new serves what was accepted before."""

from __future__ import annotations

import asyncio
import socket
from functools import partial

import pytest

from tests.support.fleet import Fleet
from tests.support.publishers import LISTENER, ROUTES, FilePublisher, site
from tests.support.watching import answers, ask, refusal, updates
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.polling import until
from xds_server.demo.world import Document, listener, refused_route, route, routes
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

MODES = [(Mode.SOTW, Mode.DELTA), (Mode.DELTA, Mode.SOTW)]


def equal_chains(documents: list[Document]) -> list[Document]:
    """A listener with two filter chains of equal matches, which Envoy refuses."""
    chains = documents[2]["filter_chains"] * 2
    return [*documents[:2], listener(LISTENER, ROUTES, filter_chains=chains), documents[3]]


def bad_regex(documents: list[Document]) -> list[Document]:
    """A route with a regular expression that Envoy can't compile."""
    return [*documents[:3], routes(ROUTES, [refused_route("start"), route("start")])]


SPOILED = {"lds": equal_chains, "rds": bad_regex}


async def rejections(envoy: Envoy) -> int:
    """How many responses an Envoy has refused."""
    return sum(count for name, count in (await updates(envoy)).items() if name.endswith("update_rejected"))


@pytest.mark.parametrize("modes", MODES, ids="-".join)
@pytest.mark.parametrize("kind", SPOILED)
async def test_k26_a_second_envoy_serves_the_last_accepted_version(
    fleet: Fleet, backends: list[Backend], modes: tuple[Mode, Mode], kind: str
) -> None:
    first, second = modes
    plane = fleet.tidegate()
    await plane.start()
    old = await fleet.envoy(first, plane.xds, node="first")
    good = site("start", backends[0])
    await FilePublisher(plane, nodes=1).publish(good)
    before = await plane.sequence()
    write_documents(plane.files / "world.yaml", SPOILED[kind](good))
    told = await refusal(plane, "first", kind, after=before)
    assert told["culprit"][0]["path"].endswith("world.yaml")
    new = await fleet.envoy(second, plane.xds, node="second")
    for envoy in (old, new):
        assert await ask(f"http://{await envoy.listener(LISTENER)}/") == (200, "blue")
    group = await plane.group()
    (withheld,) = group["withheld"]
    assert withheld["type"] == kind
    assert withheld["message"] == told["error"]["message"]
    assert not group["programmed"]
    assert "no node has accepted it" in group["reason"]
    await asyncio.sleep(1)
    assert await rejections(new) == 0
    await FilePublisher(plane, nodes=2).publish(site("repaired", backends[1]))
    for envoy in (old, new):
        url = f"http://{await envoy.listener(LISTENER)}/"
        await until(partial(answers, url, 200, "green"), within=5, what=f"{envoy.node} serves the good version")
    group = await plane.group()
    assert (group["programmed"], group["withheld"], group["reason"]) == (True, [], None)


async def test_k26_a_port_that_is_taken_keeps_nobody_else_from_it_for_ever(
    fleet: Fleet, backends: list[Backend]
) -> None:
    """The fault of one machine: once that Envoy has left, another one that runs tries it, and it is free for all."""
    plane = fleet.tidegate()
    await plane.start()
    old = await fleet.envoy(Mode.DELTA, plane.xds, node="first")
    good = site("start", backends[0])
    await FilePublisher(plane, nodes=1).publish(good)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        before = await plane.sequence()
        write_documents(plane.files / "world.yaml", [*good, listener("second", ROUTES, port=port)])
        told = await refusal(plane, "first", "lds", after=before)
        assert "second" in told["error"]["message"]
        new = await fleet.envoy(Mode.DELTA, plane.xds, node="second")
        await new.listener(LISTENER)
        assert await new.listener_now("second") is None
        assert await rejections(new) == 0
    await old.stop()
    assert await new.listener("second")
    await until(lambda: _programmed(plane), within=10, what="the version is programmed")


async def _programmed(plane: ControlPlane) -> bool:
    group = await plane.group()
    return bool(group["programmed"]) and not group["withheld"]
