"""Endpoints: none, very many, and many changes; what Envoy holds is what the files say."""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.churn import Churn
from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, ROUTES
from tests.support.watching import answers, ask, served_endpoints
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode
from xds_server.demo.envoys import Envoy
from xds_server.demo.polling import until
from xds_server.demo.world import Document, assignment, cluster, empty_assignment, listener, route, routes
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(180)]

EDITS = 1000

NO_PANIC = {"common_lb_config": {"healthy_panic_threshold": {"value": 0}}}
"""Otherwise Envoy sends requests to unhealthy endpoints when all of them are."""


@pytest.mark.parametrize("mode", [Mode.SOTW, Mode.DELTA])
async def test_k32_services_without_endpoints_hold_up_nobody(fleet: Fleet, backends: list[Backend], mode: Mode) -> None:
    plane = fleet.tidegate()
    names = ("good", "also-good", "absent", "empty", "unhealthy")
    documents: list[Document] = [cluster(name, **NO_PANIC) for name in names]
    documents += [
        assignment("good", [backends[0].port]),
        assignment("also-good", [backends[1].port]),
        empty_assignment("empty"),
        assignment("unhealthy", [backends[0].port], health="UNHEALTHY"),
        listener(LISTENER, ROUTES),
        routes(ROUTES, [route(name, prefix=f"/{name}/") for name in names]),
    ]
    write_documents(plane.files / "world.yaml", documents)
    await plane.start()
    started = time.monotonic()
    envoy = await fleet.envoy(mode, plane.xds)
    base = f"http://{await envoy.listener(LISTENER)}"
    await until(partial(answers, f"{base}/good/", 200, "blue"), within=20, what="the first 200", interval=0.02)
    assert time.monotonic() - started < 2 * SLACK
    assert await ask(f"{base}/also-good/") == (200, "green")
    for name in ("absent", "empty", "unhealthy"):
        status, _ = await ask(f"{base}/{name}/")
        assert status == 503, name
    left_out = (await plane.group())["left_out"]
    told = [(entry["type"], entry["name"], entry["reason"]) for entry in left_out]
    assert ("cds", "absent", "NoAssignment") in told


async def test_k34_twelve_hundred_endpoints_in_one_assignment(fleet: Fleet, backends: list[Backend]) -> None:
    plane = fleet.tidegate()
    slices = [{f"127.1.{number}.{host}:8080" for host in range(1, 101)} for number in range(12)]
    big = assignment("big", [])
    big["endpoints"] = [assignment("big", sorted(part))["endpoints"][0] for part in slices]
    for number, locality in enumerate(big["endpoints"]):
        locality.update(locality={"zone": f"zone-{number}"}, load_balancing_weight=1)
    tail = [listener(LISTENER, ROUTES), routes(ROUTES, [route("big")])]
    for group, own in (("default", big), ("other", assignment("big", ["127.9.9.9:8080"]))):
        folder = plane.files / f"group={group}"
        folder.mkdir()
        write_documents(folder / "big.yaml", [cluster("big"), own, *tail])
    await plane.start()
    envoys = await fleet.both(plane.xds)
    other = await fleet.envoy(Mode.DELTA, plane.xds, node="other", cluster="other")
    wanted = set().union(*slices)
    assert len(wanted) == 1200
    for envoy in envoys:
        await until(partial(_holds, envoy, "big", wanted), within=5, what=f"{envoy.node} holds 1,200 endpoints")
    await until(partial(_holds, other, "big", {"127.9.9.9:8080"}), within=5, what="the other group's one endpoint")
    assert await served_endpoints(plane, "big") == wanted
    assert await served_endpoints(plane, "big", "other") == {"127.9.9.9:8080"}


async def _holds(envoy: Envoy, name: str, endpoints: set[str]) -> bool:
    return await envoy.endpoints(name) == endpoints


async def test_k30_a_thousand_edits_of_endpoint_files_converge(fleet: Fleet, tmp_path: Path) -> None:
    plane = fleet.tidegate()
    names = [f"service-{number}" for number in range(5)]
    entries = [route(name, prefix=f"/{name}/") for name in names]
    fixed = [*(cluster(name) for name in names), listener(LISTENER, ROUTES), routes(ROUTES, entries)]
    write_documents(plane.files / "a-fixed.yaml", fixed)
    churn = Churn(plane.files, names, random.Random(30))
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await churn.run(EDITS, per_second=100)
    for name, wanted in churn.wanted().items():
        for envoy in envoys:
            await until(partial(_holds, envoy, name, wanted), within=2 * SLACK, what=f"{envoy.node}: {name}")
        assert await served_endpoints(plane, name) == wanted
    await plane.programmed(nodes=2)
