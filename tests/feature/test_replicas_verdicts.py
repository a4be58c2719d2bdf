"""Two replicas that see different lag: both go by what the elder has concluded, and the other one goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conformance.client import SLACK
from tests.feature import planted_observer
from tests.feature.shop import LAG, backend
from tests.support.replicas import Crowd, FakeEnvoy, crowd
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file, write_documents

pytestmark = pytest.mark.timeout(180)


class World:
    """The replicas, the elder first, and what each of them sees."""

    def __init__(self, replicas: Crowd, folder: Path, elder: int) -> None:
        self.replicas = replicas
        self.elder, self.younger = elder, 1 - elder
        self._folder = folder

    def lag(self, replica: int, value: float | str) -> None:
        replace_file(self._folder / f"lag-{replica}.json", json.dumps({LAG: value}))

    async def decided(self, decision: str, *replicas: int) -> None:
        """Wait until these have decided so."""
        for each in replicas:

            async def probe(plane: int = each) -> bool:
                found = await self.replicas.planes[plane].gateway("shop", "edge")
                return [route["decision"] for route in found.get("routes", [])] == [decision]

            await until(probe, within=5 * SLACK, what=f"{decision} at {each}", interval=0.03)


@asynccontextmanager
async def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    site = planted_observer.install(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))
    for index in range(2):
        (folder / f"lag-{index}.json").write_text(json.dumps({LAG: 0}))

    def own(index: int) -> dict[str, object]:
        return {"observers": {"planted": {"path": str(folder / f"lag-{index}.json")}}}

    async with crowd(folder, 2, own) as replicas:
        write_documents(replicas.files / "lite.yaml", backend("orders-lite", ["192.0.2.2"]))
        watched = {"kafkaConsumerGroup": "orders", "kafkaLagThreshold": 100, "minDwell": "0s"}
        replicas.declare(degradeService="orders-lite", **watched)
        started = [(await plane.get("/v1/replica"))["started"] for plane in replicas.planes]
        yield World(replicas, folder, started.index(min(started)))


async def test_all_go_by_the_elder_and_go_on_from_there_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path, monkeypatch) as place:
        await place.decided("primary", 0, 1)
        envoy = FakeEnvoy()
        await envoy.connect(place.replicas.planes[place.younger].xds)
        place.lag(place.elder, 150)
        await place.decided("degraded", 0, 1)
        await place.replicas.says(place.elder, "True", "all 1 Envoys on 2 replicas have accepted")
        place.lag(place.younger, 150)
        place.lag(place.elder, 0)
        await place.decided("primary", 0, 1)
        await place.replicas.says(place.elder, "True", "all 1 Envoys on 2 replicas have accepted")

        # Over, then between the two thresholds: by itself the younger would never have degraded.
        place.lag(place.younger, 90)
        place.lag(place.elder, 150)
        await place.decided("degraded", 0, 1)
        place.lag(place.elder, 90)
        await place.replicas.planes[place.elder].child.kill()
        await place.replicas.says(place.younger, "Unknown", "it can't be reached")
        await place.decided("degraded", place.younger)
        place.lag(place.younger, 0)
        await place.decided("primary", place.younger)

        # It is back: now it is the younger one, and goes by the other.
        place.lag(place.elder, 150)
        await place.replicas.planes[place.elder].start()
        await place.replicas.says(place.elder, "True", "all 1 Envoys on 2 replicas have accepted")
        await place.decided("primary", 0, 1)
        await envoy.leave()


async def test_who_does_not_know_the_value_goes_by_who_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(tmp_path, monkeypatch) as place:
        await place.decided("primary", 0, 1)
        await place.replicas.planes[place.younger].child.kill()
        await place.replicas.planes[place.elder].child.kill()
        place.lag(place.elder, "nobody knows")
        place.lag(place.younger, 150)
        await place.replicas.planes[place.elder].start()
        await place.replicas.planes[place.younger].start()
        await place.decided("degraded", 0, 1)
        # Now the elder knows, too, so all go by it.
        place.lag(place.elder, 0)
        await place.decided("primary", 0, 1)
        # It knows no more: the others go on from there.
        place.lag(place.elder, "nobody knows")
        await place.decided("degraded", 0, 1)
