"""A real Envoy follows a push, from its first configuration to a move to another backend without a failed request."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.support.fleet import Fleet
from tests.support.publishers import LISTENER, site
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.load import Load
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]


async def _push(plane: ControlPlane, version: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Replace the set of one owner; the answer."""
    url = f"{plane.admin}/v1/push/site/default"
    body = {"version": version, "resources": documents}
    async with aiohttp.ClientSession() as session, session.put(url, json=body) as response:
        assert response.status == 200, await response.text()
        answer: dict[str, Any] = await response.json()
    return answer


async def test_envoys_follow_a_push_and_no_request_fails_when_it_moves(fleet: Fleet, backends: list[Backend]) -> None:
    blue, green = backends
    plane = fleet.tidegate({"sources": [{"kind": "push"}]})
    await plane.start()
    await fleet.both(plane.xds)
    answer = await _push(plane, "1", site(blue.name, blue))
    assert not answer["problems"]
    group = await plane.programmed(after=answer["snapshot"]["seq"] - 1, nodes=2)
    assert group["version"] == answer["snapshot"]["version"]
    async with Load(await fleet.urls(LISTENER), rate=50.0) as load:
        await until(lambda: _answered(load, blue), within=10, what="blue answers")
        answer = await _push(plane, "2", site(green.name, green))
        await plane.programmed(after=answer["snapshot"]["seq"] - 1, nodes=2)
        await until(lambda: _answered(load, green), within=10, what="green answers")
    assert load.failed == 0, load.failures()


async def _answered(load: Load, backend: Backend) -> bool:
    return all(backend.name in tally.answered_by for tally in load.tallies.values())
