"""K30: after any edits of a service's slices all have the same endpoints: files, admin API, a raw client, real Envoys."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2

from tests.conformance.client import Stream, connect
from tests.conformance.wire import Variant, node_of
from tests.support.counts import long_or_short
from tests.support.fleet import SLACK, Fleet
from tests.support.gateway_fleet import declare
from tests.support.watching import served_endpoints
from xds_server.demo.envoys import Envoy
from xds_server.demo.manifests import endpoint_slice, gateway, route, service
from xds_server.demo.polling import until
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(180)]

EDITS = long_or_short(1000, 100)
PAUSE = 0.05
"""Seconds between edits: 20 in a second."""

NAME = "default/big/80"


class Slices:
    """Slices in files of their own, edited at random: endpoints come, go and move, slices go and come by a new name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._chance = random.Random(30)
        self._hosts: list[set[str]] = [set() for _ in range(5)]
        self._names = list(range(5))

    def edit(self) -> None:
        """One edit; a move is two files, one after the other, as it is two objects of Kubernetes."""
        one, other = self._chance.sample(range(5), 2)
        kind = self._chance.choices(["toggle", "move", "recreate", "delete"], [6, 2, 1, 1])[0]
        if kind == "move" and self._hosts[one]:
            moved = self._chance.choice(sorted(self._hosts[one]))
            self._hosts[one].discard(moved)
            self._hosts[other].add(moved)
            self._write(other)
        elif kind == "recreate":
            self._file(one).unlink(missing_ok=True)
            self._names[one] += 5
        elif kind == "delete":
            self._hosts[one] = set()
            self._file(one).unlink(missing_ok=True)
            return
        else:
            self._hosts[one] ^= {f"127.0.{self._chance.randrange(3)}.{self._chance.randrange(1, 40)}"}
        self._write(one)

    def union(self) -> set[str]:
        """What all of them have."""
        return {f"{host}:8080" for hosts in self._hosts for host in hosts}

    def _write(self, at: int) -> None:
        made = endpoint_slice("big", port=8080, number=self._names[at])
        made["endpoints"] = [{"addresses": [each]} for each in sorted(self._hosts[at])]
        write_documents(self._file(at), [made])

    def _file(self, at: int) -> Path:
        return self._folder / f"slice-{self._names[at]}.yaml"


async def test_k30_edits_of_slices_converge(fleet: Fleet) -> None:
    plane = fleet.tidegate()
    declare(plane, service("big"), gateway(route("big")))
    await plane.start()
    envoys = await fleet.both(plane.xds)
    slices = Slices(plane.files)
    async with connect(plane.xds) as channel, Stream(channel, Variant.DELTA, node_of("raw")) as stream:
        stream.ask("eds", NAME)
        for _ in range(EDITS):
            slices.edit()
            await asyncio.sleep(PAUSE)
        wanted = slices.union()
        assert len(wanted) > 1
        await stream.until(lambda: _received(stream) == wanted, within=2, what="the union of the slices")
    for envoy in envoys:
        await until(partial(_holds, envoy, wanted), within=2 * SLACK, what=f"{envoy.node} holds their union")
    assert await served_endpoints(plane, NAME) == wanted


def _received(stream: Stream) -> set[str]:
    held = stream.holds["eds"].get(NAME, b"")
    return {
        f"{each.endpoint.address.socket_address.address}:{each.endpoint.address.socket_address.port_value}"
        for locality in endpoint_pb2.ClusterLoadAssignment.FromString(held).endpoints
        for each in locality.lb_endpoints
    }


async def _holds(envoy: Envoy, endpoints: set[str]) -> bool:
    return await envoy.endpoints(NAME) == endpoints
