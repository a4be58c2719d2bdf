"""Each fault that a gateway can have, edited into a world that is served: it is told everywhere, and the rest goes on."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client import SLACK
from tests.conformance.server import Server
from tests.feature.commands import run
from tests.unit.k8s_source.manifests import pair, tls_secret
from xds_server.demo.control_plane import Json
from xds_server.demo.manifests import Manifest, backend, gateway, route, service
from xds_server.demo.polling import until

Edit = Callable[[Manifest], None]


@dataclass(frozen=True)
class Fault:
    """How gateway `edge` is made wrong, what is said of it, and what becomes of the path `/cart`."""

    edit: Edit
    reason: str
    field: str
    condition: str = "Accepted"
    cart: str = "cart"
    """The Service to which requests for `/cart` go meanwhile, "" where they are answered with 503."""


def _set(number: int, **fields: object) -> Edit:
    return lambda edge: edge["spec"]["routes"][number].update(fields)


def _add(**fields: object) -> Edit:
    return lambda edge: edge["spec"]["routes"].append({**route("more", backendService="pay"), **fields})


FAULTS = {
    "unknown field": Fault(_set(0, timeOut="1s"), "UnknownField", "spec.routes[0].timeOut"),
    "wrong type": Fault(_set(0, path=5), "InvalidValue", "spec.routes[0].path"),
    "negative threshold": Fault(
        _set(0, kafkaConsumerGroup="g", kafkaLagThreshold=-1, degradeService="pay"),
        "InvalidValue",
        "spec.routes[0].kafkaLagThreshold",
    ),
    "missing service": Fault(
        _set(0, backendService="nowhere"), "ServiceNotFound", "spec.routes[0].backendService", "Resolved", ""
    ),
    "port that does not exist": Fault(_set(0, port="admin"), "PortNotFound", "spec.routes[0].port", "Resolved", ""),
    "two routes of one name": Fault(_add(name="cart", path="/more"), "DuplicateRoute", "spec.routes[2].name"),
    "overlapping paths": Fault(_add(path="/cart/"), "OverlappingPath", "spec.routes[2].path"),
}


class Place:
    """A group of its own with two gateways and what they lead to, each in a file."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.world = server.world("faults")
        self.space = self.world.group

    def write(self, file: str, *manifests: Manifest) -> None:
        """Write these, in the namespace of this test."""
        owned = copy.deepcopy(manifests)
        for manifest in owned:
            manifest["metadata"]["namespace"] = self.space
        self.world.write(file, *owned)

    async def gateway(self, name: str) -> Json:
        """What the admin API says of a gateway, {} while it is not there."""
        found = (await self.server.get(f"/v1/gateways/{self.space}/{name}")).get("gateways", [])
        return next(iter(found), {})

    async def condition(self, name: str, kind: str) -> Json:
        """One condition of a gateway."""
        conditions = (await self.gateway(name)).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    async def said(self, name: str, kind: str, status: str) -> Json:
        """Wait until a condition has this status."""

        async def probe() -> Json | None:
            found = await self.condition(name, kind)
            return found if found.get("status") == status else None

        return await until(probe, within=5 * SLACK, what=f"{name}: {kind} {status}")

    async def resources(self) -> dict[tuple[str, str], Json]:
        """What is served, by type and name."""
        group = await self.server.group(self.world)
        version = await self.server.get(f"/v1/groups/{self.world.group}/versions/{group['seq']}")
        return {(each["type"], each["name"]): each for each in version["resources"]}

    async def good(self) -> None:
        """Wait until nothing is wrong with either gateway, but that no Envoy is there."""
        for name in ("edge", "other"):
            for kind in ("Accepted", "Resolved"):
                await self.said(name, kind, "True")
        assert await self.server.errors(self.world) == []


def edge() -> Manifest:
    return gateway(route("cart", "/cart"), route("pay", "/pay"), name="edge", listeners=[{"port": 8081}])


def other(**listener: Any) -> Manifest:
    return gateway(
        route("cart", "/", hosts=["other.test"]), name="other", listeners=[{"port": 8082, "name": "http", **listener}]
    )


@pytest.fixture
def place(server: Server) -> Place:
    """A good world."""
    found = Place(server)
    found.write("backends", *backend("cart", 8080), *backend("pay", 8081), service("idle"))
    found.write("edge", edge())
    found.write("other", other())
    return found


def routed(resources: dict[tuple[str, str], Json], name: str) -> dict[str, str]:
    """Path → cluster of a route configuration's routes, "" where they answer 503."""
    found = {}
    for host in resources["rds", name]["resource"]["virtual_hosts"]:
        for each in host["routes"]:
            path = each["match"].get("path_separated_prefix") or each["match"].get("prefix")
            assert "route" in each or each["direct_response"]["status"] == 503
            found[path] = each.get("route", {}).get("cluster", "")
    return found


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_fault_is_told_and_the_rest_goes_on(place: Place, fault: Fault) -> None:
    await place.good()
    before = await place.resources()
    wrong = edge()
    fault.edit(wrong)
    place.write("edge", wrong)

    found = await place.said("edge", fault.condition, "False")
    assert found["reason"] == fault.reason
    (error,) = await place.server.errors(place.world)
    assert (error["reason"], error["field"], Path(error["path"]).name) == (fault.reason, fault.field, "edge.yaml")
    assert error["line"] >= 1
    assert error["message"] in found["message"]
    await _validate_says_so(place, error)

    after = await place.resources()
    shared = {key for key in before if key[1] != "http-8081"}
    assert {key: each["version"] for key, each in before.items() if key in shared} == {
        key: each["version"] for key, each in after.items() if key in shared
    }
    cart = f"{place.space}/{fault.cart}/80" if fault.cart else ""
    assert routed(after, "http-8081") == {"/cart": cart, "/pay": f"{place.space}/pay/80"}
    assert (await place.gateway("other"))["status"]["lastError"] is None

    place.write("edge", edge())
    await place.good()
    assert await place.resources() == before


async def _validate_says_so(place: Place, error: Json) -> None:
    code, output, _ = await run("validate", "-o", "json", str(place.world.folder))
    (said,) = json.loads(output)["errors"]
    keys = ("reason", "field", "line", "message")
    assert code == 1
    assert {key: said[key] for key in keys} == {key: error[key] for key in keys}


def _secure() -> tuple[Manifest, Manifest]:
    """A gateway `secure`, and the Secret of its listener."""
    listener = {"port": 8443, "protocol": "HTTPS", "tls": {"secretName": "cert"}}
    return (
        gateway(route("cart", "/"), name="secure", listeners=[listener]),
        {**tls_secret(*pair()), "metadata": {"name": "cert"}},
    )


def _depended_on() -> dict[str, tuple[str, list[Manifest] | str, str]]:
    """By name: the file, what is written into it, and the reason that the gateway `secure` gives."""
    good = backend("cart", 8080)
    foreign = {**tls_secret(pair()[0], pair("other")[1]), "metadata": {"name": "cert"}}
    return {
        "a foreign key": ("cert", [foreign], "Mismatch"),
        "a service": ("backends", [{**good[0], "spec": {"ports": "http"}}, *good[1:]], "InvalidValue"),
        "a slice": ("backends", [good[0], {**good[1], "addressType": "IPv5"}], "InvalidValue"),
        "a file that is no YAML": ("backends", "kind: [", "InvalidSyntax"),
        "a file without content": ("backends", "", "EmptyFile"),
        "a second declaration": ("zz-again", [_secure()[0]], "DuplicateObject"),
        "a second secret": ("zz-again", [_secure()[1]], "DuplicateObject"),
    }


@pytest.mark.parametrize(("file", "content", "reason"), _depended_on().values(), ids=_depended_on())
async def test_a_fault_in_what_a_gateway_depends_on_is_told_there(
    server: Server, file: str, content: list[Manifest] | str, reason: str
) -> None:
    place = Place(server)
    place.write("backends", *backend("cart", 8080))
    place.write("cert", _secure()[1])
    place.write("secure", _secure()[0])
    place.write("other", gateway(route("else", "/", backendService="idle"), name="other", listeners=[{"port": 8082}]))
    place.write("more", service("idle"))
    for name in ("secure", "other"):
        await place.said(name, "Resolved", "True")
    before = _versions(await place.resources())
    if isinstance(content, str):
        (place.world.folder / f"{file}.yaml").write_text(content)
    else:
        place.write(file, *content)

    found = await place.said("secure", "Resolved", "False")
    assert found["reason"] == reason
    assert "in force" in found["message"]
    status = (await place.gateway("secure"))["status"]
    assert (status["phase"], status["lastError"]) == ("Degraded", found["message"])
    assert (await place.condition("secure", "Accepted"))["status"] == "True"
    assert (await place.condition("other", "Resolved"))["status"] == "True"
    (error,) = await place.server.errors(place.world)
    assert error["reason"] == reason
    assert _versions(await place.resources()) == before
    if file == "zz-again":
        (place.world.folder / f"{file}.yaml").unlink()
    place.write("backends", *backend("cart", 8080))
    place.write("cert", _secure()[1])
    await place.said("secure", "Resolved", "True")
    assert _versions(await place.resources()) == before


def _versions(resources: dict[tuple[str, str], Json]) -> dict[tuple[str, str], str]:
    return {key: each["version"] for key, each in resources.items()}


async def test_a_host_that_two_gateways_claim_is_the_first_ones(place: Place) -> None:
    await place.good()
    before = await place.resources()
    wrong = other(port=8081)
    wrong["spec"]["routes"][0]["hosts"] = ["*", "mine.test"]
    place.write("other", wrong)

    found = await place.said("other", "Accepted", "False")
    assert found["reason"] == "HostConflict"
    (error,) = await place.server.errors(place.world)
    assert (error["reason"], error["field"], Path(error["path"]).name) == ("HostConflict", "spec.routes", "other.yaml")
    await _validate_says_so(place, error)
    assert (await place.gateway("edge"))["status"]["lastError"] is None
    hosts = (await place.resources())["rds", "http-8081"]["resource"]["virtual_hosts"]
    assert {each["name"]: len(each["routes"]) for each in hosts} == {"*": 2, "mine.test": 1}

    place.write("other", other())
    await place.good()
    assert await place.resources() == before
