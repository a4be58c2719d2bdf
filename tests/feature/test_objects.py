"""Manifests in files, all the way: objects follow their files, the last good of each stays, also over a restart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import SLACK
from tests.conformance.server import Restartable
from tests.feature.restarts import keeping
from tests.unit.k8s_source.manifests import Body, endpoint_slice, gateway, route, service
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

pytestmark = pytest.mark.timeout(120)

ASSIGNMENT = "default/cart/80"


class Objects:
    """Files with manifests, and the server that reads them; all of it in the group `default`."""

    def __init__(self, server: Restartable) -> None:
        self.server = server

    def write(self, file: str, *bodies: Body) -> None:
        """Replace a file at once."""
        draft = self.server.files / f".{file}"
        draft.write_text("\n---\n".join(json.dumps(body, indent=1) for body in bodies))
        draft.replace(self.server.files / file)

    def world(self) -> None:
        """A gateway whose route leads to a service with one endpoint, each in a file."""
        self.write("gateway.yaml", gateway(route()))
        self.write("service.yaml", service())
        self.write("slice.yaml", endpoint_slice("cart-1", "cart", "10.0.0.1"))

    async def version(self) -> Json:
        group = await self.server.get("/v1/groups/default")
        return await self.server.get(f"/v1/groups/default/versions/{group['seq']}")

    async def resources(self) -> dict[str, Json]:
        """What is served, by name; type and content."""
        return {each["name"]: each for each in (await self.version())["resources"]}

    async def until(self, holds: Callable[[dict[str, Json]], Any], what: str) -> dict[str, Json]:
        async def probe() -> dict[str, Json] | None:
            if "seq" not in await self.server.get("/v1/groups/default"):
                return None
            found = await self.resources()
            return found if holds(found) else None

        return await until(probe, within=10 * SLACK, what=what, interval=0.05)

    async def errors(self) -> list[tuple[str, str]]:
        """Reason and file of what the source says is wrong."""
        (source,) = (await self.server.get("/v1/sources"))["sources"]
        return [(each["reason"], Path(each["path"]).name) for each in source["errors"]]

    async def until_told(self, *errors: tuple[str, str]) -> None:
        async def told() -> bool:
            return await self.errors() == list(errors)

        await until(told, within=10 * SLACK, what=f"{errors} is told", interval=0.05)


@asynccontextmanager
async def objects(folder: Path) -> AsyncIterator[Objects]:
    async with keeping(folder) as server:
        yield Objects(server)


def leads_to(address: str) -> Callable[[dict[str, Json]], bool]:
    """Whether the service's only endpoint has that address."""
    return lambda found: address in json.dumps([each for each in found.values() if each["name"] == ASSIGNMENT])


async def test_a_gateway_follows_its_objects_and_each_change_tells_its_file(tmp_path: Path) -> None:
    async with objects(tmp_path) as world:
        world.world()
        found = await world.until(leads_to("10.0.0.1"), "the endpoint is served")
        assert {"http-8080", ASSIGNMENT} <= found.keys()
        (source,) = (await world.server.get("/v1/sources"))["sources"]
        assert source["objects"] == {"DynamicGateway": 1, "EndpointSlice": 1, "Service": 1}
        world.write("slice.yaml", endpoint_slice("cart-1", "cart", "10.0.0.2"))
        await world.until(leads_to("10.0.0.2"), "the other endpoint is served")
        origin = (await world.server.get("/v1/groups/default"))["origin"]
        assert origin == {"source": "files", "change": "slice.yaml"}
        explained = await world.server.get(f"/v1/explain?group=default&type=eds&name={ASSIGNMENT}")
        assert {each["kind"] for each in explained["objects"]} == {"Service", "EndpointSlice"}


async def test_what_can_not_be_read_keeps_its_last_good_form(tmp_path: Path) -> None:
    async with objects(tmp_path) as world:
        world.world()
        await world.until(leads_to("10.0.0.1"), "the endpoint is served")
        world.write("gateway.yaml", gateway(route(kafkaLagThreshold=-1)))
        world.write("service.yaml", {"apiVersion": "v1"})
        await world.until_told(("InvalidValue", "gateway.yaml"), ("UnknownForm", "service.yaml"))
        assert leads_to("10.0.0.1")(await world.resources())
        world.write("slice.yaml", endpoint_slice("cart-1", "cart", "10.0.0.2"))
        await world.until(leads_to("10.0.0.2"), "what is right follows")


@pytest.mark.parametrize("fault", ["a: [", json.dumps(service("cart", {"port": 0}))])
async def test_a_file_that_is_broken_at_the_start_takes_nothing_away(tmp_path: Path, fault: str) -> None:
    async with objects(tmp_path) as world:
        world.world()
        await world.until(leads_to("10.0.0.1"), "the endpoint is served")
        before = await world.version()
        await world.server.plane.stop()
        (world.server.files / "service.yaml").write_text(fault)
        await world.server.plane.start()

        async def told() -> bool:
            return any(file == "service.yaml" for _, file in await world.errors())

        await until(told, within=10 * SLACK, what="the broken file is told", interval=0.05)
        assert (await world.version())["version"] == before["version"]
        world.write("slice.yaml", endpoint_slice("cart-1", "cart", "10.0.0.2"))
        world.write("service.yaml", service())
        await world.until(leads_to("10.0.0.2"), "all is read, and followed")
