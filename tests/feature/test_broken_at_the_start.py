"""What can't be read after a restart is served in its last good form, and the rest of its group goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import SLACK
from tests.conformance.server import Restartable
from tests.feature.restarts import keeping, on_disk
from xds_server.demo.control_plane import Json
from xds_server.demo.manifests import Manifest, backend, gateway, route
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import replace_file, write_documents

pytestmark = pytest.mark.timeout(120)

Resources = dict[tuple[str, str], Json]

BROKEN = {
    "no YAML": ("spec:", "spec: ["),
    "no document": ("apiVersion", "api-version"),
    "no name": ("  name: cart\n", ""),
    "unknown field": ("spec:", "spec:\n  routs: []"),
    "wrong type": ("spec:", "spec:\n  ports: 1\nrest:"),
}
"""How a file is edited: what is put in the place of what."""


class World:
    """Two gateways on one port, each in a file, and what they lead to."""

    def __init__(self, server: Restartable) -> None:
        self.server = server
        self.files = server.plane.files

    def write(self, file: str, *manifests: Manifest) -> None:
        """Replace a file."""
        write_documents(self.files / file, manifests)

    async def resources(self) -> Resources:
        """What is served, by type and name."""
        group = await self.server.get("/v1/groups/default")
        if "seq" not in group:
            return {}
        version = await self.server.get(f"/v1/groups/default/versions/{group['seq']}")
        return {(each["type"], each["name"]): each for each in version["resources"]}

    async def until(self, holds: Callable[[Resources], Any], what: str) -> Resources:
        """Wait until what is served is so."""

        async def probe() -> Resources | None:
            found = await self.resources()
            return found if holds(found) else None

        return await until(probe, within=10 * SLACK, what=what)

    async def stored(self) -> None:
        """Wait until the objects are on disk, and what is served."""
        file = self.server.plane.files.parent / "state" / "objects" / "objects.changes"

        async def probe() -> bool:
            data = file.read_bytes() if file.exists() else b""
            return all(name in data for name in (b"first", b"second", b"cart", b"pay"))

        await until(probe, within=5 * SLACK, what="the objects are stored")
        await on_disk(self.server)

    async def told(self, file: str) -> None:
        """Wait until something is wrong with a file."""

        async def probe() -> bool:
            (source,) = (await self.server.get("/v1/sources"))["sources"]
            return {Path(each["path"]).name for each in source["errors"]} == {file}

        await until(probe, within=10 * SLACK, what=f"{file} is told")


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[World]:
    async with keeping(folder) as server:
        world = World(server)
        world.write("first.yaml", FIRST)
        world.write("second.yaml", second())
        world.write("cart.yaml", *backend("cart", 9001))
        world.write("pay.yaml", *backend("pay", 9002))
        await world.until(lambda found: endpoints(found, "pay") == {9002} and routes(found) == ROUTES, "all is served")
        await world.stored()
        yield world


FIRST = gateway(route("cart", "/cart"), name="first", listeners=[{"port": 8080}])
ROUTES = {"default/first/cart": "default/cart/80", "default/second/pay": "default/pay/80"}


def second(path: str = "/pay") -> Manifest:
    return gateway(route("pay", path, hosts=["pay.test"]), name="second", listeners=[{"port": 8080}])


def versions(found: Resources) -> dict[tuple[str, str], str]:
    """The content of what is served; where it is declared may have moved."""
    return {key: each["version"] for key, each in found.items()}


def endpoints(found: Resources, service: str) -> set[int]:
    """The ports of a service's endpoints."""
    served = found.get(("eds", f"default/{service}/80"), {}).get("resource", {}).get("endpoints", [])
    return {
        each["endpoint"]["address"]["socket_address"]["port_value"]
        for locality in served
        for each in locality["lb_endpoints"]
    }


def routes(found: Resources) -> dict[str, str]:
    """Route → cluster."""
    hosts = found.get(("rds", "http-8080"), {}).get("resource", {}).get("virtual_hosts", [])
    return {each["name"]: each.get("route", {}).get("cluster", "") for host in hosts for each in host["routes"]}


@pytest.mark.parametrize(
    ("file", "how"),
    [
        ("first.yaml", "no YAML"),
        ("first.yaml", "unknown field"),
        ("cart.yaml", "nothing at all"),
        ("first.yaml", "nothing at all"),
        ("cart.yaml", "no document"),
        ("cart.yaml", "no name"),
        ("cart.yaml", "wrong type"),
    ],
)
async def test_it_stays_and_the_rest_of_its_group_goes_on(tmp_path: Path, file: str, how: str) -> None:
    async with served(tmp_path) as world:
        good = (world.files / file).read_text()
        before = await world.resources()
        await world.server.plane.child.kill()
        replace_file(world.files / file, good.replace(*BROKEN[how]) if how in BROKEN else "")
        await world.server.plane.start()
        await world.told(file)
        assert versions(await world.resources()) == versions(before)

        world.write("pay.yaml", *backend("pay", 9003))
        world.write("second.yaml", second("/paid"))
        after = await world.until(
            lambda found: endpoints(found, "pay") == {9003} and b"/paid" in repr(found).encode(), "the rest is followed"
        )
        assert routes(after) == ROUTES
        assert endpoints(after, "cart") == {9001}

        replace_file(world.files / file, good)
        write_documents(world.files / "cart.yaml", backend("cart", 9004))
        await world.until(lambda found: endpoints(found, "cart") == {9004}, "all is followed")


async def test_what_is_gone_with_the_file_is_gone(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        await world.server.plane.child.kill()
        (world.files / "first.yaml").unlink()
        await world.server.plane.start()
        await world.until(lambda found: list(routes(found)) == ["default/second/pay"], "the gateway is gone")


async def test_of_a_damaged_file_of_objects_nothing_is_taken(tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        before = await world.resources()
        await world.server.plane.child.kill()
        file = tmp_path / "state" / "objects" / "objects.changes"
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        replace_file(world.files / "first.yaml", "a: [")
        await world.server.plane.start()
        await world.told("first.yaml")
        assert versions(await world.resources()) == versions(before)
        world.write("first.yaml", FIRST)
        world.write("pay.yaml", *backend("pay", 9003))
        await world.until(lambda found: endpoints(found, "pay") == {9003} and routes(found) == ROUTES, "all goes on")
