"""K34: 1,200 endpoints of one service arrive whole; another group's service of the same name is another one."""

from __future__ import annotations

import asyncio

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2

from tests.conformance.client import Stream
from tests.conformance.server import Clients, Server
from tests.conformance.wire import BOTH, Variant
from xds_server.demo.world import assignment

SLICES, EACH = 12, 100


def _addresses(stream: Stream) -> set[str]:
    message = endpoint_pb2.ClusterLoadAssignment.FromString(stream.holds["eds"]["big"])
    found = [entry.endpoint.address.socket_address for part in message.endpoints for entry in part.lb_endpoints]
    assert len(found) == len({(each.address, each.port_value) for each in found})
    return {f"{each.address}:{each.port_value}" for each in found}


@pytest.mark.parametrize("variant", BOTH)
async def test_k34_twelve_hundred_endpoints(server: Server, clients: Clients, variant: Variant) -> None:
    ours, others = server.world("big"), server.world("other")
    slices = [[f"10.1.{number}.{host}:8080" for host in range(1, EACH + 1)] for number in range(SLICES)]
    big = assignment("big", [])
    big["endpoints"] = [
        {**assignment("big", part)["endpoints"][0], "locality": {"zone": f"zone-{number}"}}
        for number, part in enumerate(slices)
    ]
    ours.write("big", big)
    others.write("big", assignment("big", ["10.9.9.9:8080"]))
    streams = [await clients.stream(variant, world) for world in (ours, others)]
    for stream in streams:
        stream.ask("eds", "big")
    await asyncio.gather(*(stream.sent("eds", "big") for stream in streams))
    assert _addresses(streams[0]) == set().union(*slices)
    assert len(_addresses(streams[0])) == SLICES * EACH
    assert _addresses(streams[1]) == {"10.9.9.9:8080"}
