"""K49: a folder mounted the ConfigMap way: symlink swaps, re-creation, slow writers, broken YAML, renames."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, site
from tests.support.watching import answers
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.envoys import Envoy
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file, to_yaml

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

LIMIT = 2.0 * SLACK
"""Seconds from a change of files to the new answer through Envoy."""


@dataclass
class Mounted:
    """A folder like a mounted ConfigMap: `world.yaml` → `..data/world.yaml`, and `..data` → a dated folder."""

    plane: ControlPlane
    backends: list[Backend]
    envoys: list[Envoy]
    swaps: int = 0

    @property
    def file(self) -> Path:
        return self.plane.files / "world.yaml"

    def text(self, number: int) -> str:
        """The content whose requests go to backend `number` (modulo their count) by a cluster of its own."""
        return to_yaml(*site(f"cluster-{number}", self.backends[number % 2]))

    def swap(self, number: int) -> None:
        """Put content `number` in place the way the kubelet does."""
        self.swaps += 1
        folder = self.plane.files
        fresh, link, old = folder / f"..{self.swaps}", folder / "..data_tmp", (folder / "..data").resolve()
        fresh.mkdir()
        (fresh / "world.yaml").write_text(self.text(number))
        link.symlink_to(fresh.name)
        link.replace(folder / "..data")
        if old.name != "..data":
            shutil.rmtree(old)

    async def answered_by(self, number: int) -> None:
        """Wait until content `number` answers through every Envoy."""
        for envoy in self.envoys:
            await until(partial(self._answers, envoy, number), within=LIMIT, what=f"{envoy.node} serves {number}")

    async def _answers(self, envoy: Envoy, number: int) -> bool:
        # Asked anew each time: a listener that was gone for a while comes back on another port.
        address = await envoy.listener_now(LISTENER)
        return address is not None and await answers(f"http://{address}/", 200, self.backends[number % 2].name)

    async def error(self) -> Json | None:
        """What `/v1/sources` says is wrong with the files."""
        (source,) = (await self.plane.get("/v1/sources"))["sources"]
        found: Json | None = source["error"]
        return found


@pytest.fixture
async def mounted(fleet: Fleet, backends: list[Backend]) -> Mounted:
    plane = fleet.tidegate()
    mounted = Mounted(plane, backends, fleet.envoys)
    mounted.swap(0)
    mounted.file.symlink_to(Path("..data") / "world.yaml")
    await plane.start()
    await fleet.both(plane.xds)
    await mounted.answered_by(0)
    await plane.programmed(nodes=2)
    return mounted


async def test_k49_symlink_swaps(mounted: Mounted) -> None:
    before = await mounted.plane.sequence()
    for number in range(1, 21):
        mounted.swap(number)
        await mounted.answered_by(number)
    assert await mounted.plane.sequence() == before + 20


async def test_k49_deleted_and_created_again(mounted: Mounted) -> None:
    mounted.file.unlink()
    for number in range(1, 6):
        # Not a rename: a new file that is written in place.
        mounted.file.write_text(mounted.text(number))
        await mounted.answered_by(number)
        before = await mounted.plane.sequence()
        mounted.file.unlink()
        await mounted.plane.programmed(after=before, nodes=2)


async def test_k49_a_slow_writer(mounted: Mounted) -> None:
    replace_file(mounted.file, mounted.text(0))
    await mounted.answered_by(0)
    before = await mounted.plane.sequence()
    text = mounted.text(1)
    third = len(text) // 3
    with mounted.file.open("w") as file:
        for part in (text[:third], text[third : 2 * third], text[2 * third :]):
            file.write(part)
            file.flush()
            await asyncio.sleep(0.3)
            assert await mounted.plane.sequence() == before
    await mounted.answered_by(1)
    await mounted.plane.programmed(after=before, nodes=2)
    assert await mounted.plane.sequence() == before + 1


async def test_k49_broken_yaml_keeps_the_last_good(mounted: Mounted) -> None:
    before = (await mounted.plane.group())["version"]
    replace_file(mounted.file, "resources: [\n  - {")
    error = await until(mounted.error, within=LIMIT, what="the broken file is told")
    assert error["path"].endswith("world.yaml")
    assert error["message"]
    assert error["line"]
    assert (await mounted.plane.group())["version"] == before
    await mounted.answered_by(0)
    replace_file(mounted.file, mounted.text(1))
    await mounted.answered_by(1)
    assert not await mounted.error()


async def test_k49_renames_over_the_file(mounted: Mounted) -> None:
    before = await mounted.plane.sequence()
    for number in range(1, 21):
        replace_file(mounted.file, mounted.text(number))
        await mounted.answered_by(number)
    assert await mounted.plane.sequence() == before + 20
