"""Tidegate is restarted again and again under raw streams (200 in CI) and two Envoys under load, and nobody notices.

No request fails, and no resource is sent again that did not change.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conformance.wire import Variant
from tests.support.counts import IS_LONG, long_or_short
from tests.support.fleet import SLACK, Fleet
from tests.support.followers import Follower, followers
from tests.support.publishers import LISTENER, ROUTES, FilePublisher, site
from tests.support.watching import last_updated, whole_state
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.world import Document, assignment, cluster
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(300)]

STREAMS = long_or_short(200, 50)
SERVICES = 20
CALM = 1.0
"""Seconds after which all has come that would be sent again."""


def _services(moved: int = -1) -> list[Document]:
    """Clusters beside the site's; the endpoint of number `moved` is another one."""
    names = [f"service-{number}" for number in range(SERVICES)]
    ports = [2 if number == moved else 1 for number in range(SERVICES)]
    return [each for name, port in zip(names, ports, strict=True) for each in (cluster(name), assignment(name, [port]))]


class World:
    """The server, its raw clients and its Envoys, and what the last restart brought them."""

    def __init__(self, plane: ControlPlane, envoys: Sequence[Envoy], raw: Sequence[Follower]) -> None:
        self.plane = plane
        self.raw = raw
        self._envoys = envoys
        self._nodes = len(envoys) + len(raw)

    async def settle(self) -> Json:
        """Wait until every node has accepted the group's version, and all is calm; the group."""
        await self.plane.programmed(nodes=self._nodes, within=20 * SLACK)
        await asyncio.sleep(CALM)
        group = await self.plane.group()
        assert group["nodes"] == {"connected": self._nodes, "acked": self._nodes, "nacked": 0}
        return group

    async def stop(self, number: signal.Signals) -> None:
        """End the server; what the clients get from now on is looked at."""
        for each in self.raw:
            each.got.clear()
        self.plane.child.signal(number)
        code = await self.plane.child.wait(within=12 * SLACK)
        assert code == (0 if number is signal.SIGTERM else -number)

    def of(self, variant: Variant) -> list[Follower]:
        """The raw clients of one variant."""
        return [each for each in self.raw if each.variant is variant]

    async def envoys(self) -> tuple[dict[str, object], dict[str, str]]:
        """When each resource was last taken: by the SotW Envoy (clusters and listeners), by the delta Envoy (all)."""
        sotw, delta = [await last_updated(each) for each in self._envoys]
        return whole_state(sotw), delta


@asynccontextmanager
async def _running(fleet: Fleet, state: Path, start: Backend) -> AsyncIterator[World]:
    plane = fleet.tidegate({"state_dir": str(state)})
    write_documents(plane.files / "services.yaml", _services())
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await FilePublisher(plane, nodes=2).publish(site("start", start))
    async with followers(plane.xds, STREAMS) as raw:
        yield World(plane, envoys, raw)


async def _restart_unchanged(world: World, number: signal.Signals) -> None:
    before, held = await world.plane.group(), await world.envoys()
    await world.stop(number)
    await world.plane.start()
    after = await world.settle()
    assert [after[key] for key in ("version", "seq", "created")] == [
        before[key] for key in ("version", "seq", "created")
    ]
    for each in world.of(Variant.DELTA):
        assert not each.sent(), f"{each.name} was sent again what it has"
        assert not each.removed()
    for each in world.of(Variant.SOTW):
        # For types asked for by name, the version does not tell which names a client holds: they come once.
        assert sorted(response.key for response in each.got) == ["eds", "rds"], each.name
    assert await world.envoys() == held


async def _restart_with_a_change(world: World, to: Backend) -> None:
    before, held = await world.plane.group(), await world.envoys()
    await world.stop(signal.SIGTERM)
    write_documents(world.plane.files / "world.yaml", site("moved", to))
    write_documents(world.plane.files / "services.yaml", _services(moved=7))
    await world.plane.start()
    await world.plane.programmed(after=before["seq"], nodes=STREAMS + 2, within=20 * SLACK)
    await world.settle()
    for each in world.of(Variant.DELTA):
        assert each.sent() == {"cds": {"moved"}, "eds": {"moved", "service-7"}, "rds": {ROUTES}}, each.name
        assert each.removed() == {"cds": {"start"}}, each.name  # its endpoints are not asked for any more
    for each in world.of(Variant.SOTW):
        assert not any(response.key == "lds" for response in each.got), each.name
        assert set(each.holds["cds"]) == {"moved", *(f"service-{number}" for number in range(SERVICES))}
    now = (await world.envoys())[1]
    assert {key for key in {*now, *held[1]} if now.get(key) != held[1].get(key)} == {
        "cds/moved",
        "cds/start",
        f"rds/{ROUTES}",
    }


async def test_rolling_restarts_under_load_fail_no_request_and_resend_nothing_that_did_not_change(
    fleet: Fleet, backends: list[Backend], tmp_path: Path
) -> None:
    async with _running(fleet, tmp_path / "state", backends[0]) as world:
        await world.settle()
        async with Load(await fleet.urls(LISTENER), rate=100) as load:
            await _restart_unchanged(world, signal.SIGTERM)
            await _restart_unchanged(world, signal.SIGKILL)
            await _restart_with_a_change(world, backends[1])
            if IS_LONG:
                await _restart_unchanged(world, signal.SIGTERM)
        assert load.failed == 0, load.failures()
        assert load.sent > 1000
        assert set(load.tallies["delta"].answered_by) == {backend.name for backend in backends}
