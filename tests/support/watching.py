"""Questions that several tests put to an Envoy or to Tidegate."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from functools import partial
from typing import Any

import aiohttp

from tests.support.certificates import serial_of
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.envoys import Envoy
from xds_server.demo.polling import until

CONFIG_STATS = "update_(attempt|success|rejected)$"
"""The counters of all xDS subscriptions of an Envoy."""


async def ask(url: str) -> tuple[int, str]:
    """One request on a connection of its own: status and body."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def answers(url: str, status: int, body: str | None = None) -> bool:
    """Whether a request is answered so; False also when nobody answers."""
    try:
        got = await ask(url)
    except aiohttp.ClientError:
        return False
    return got[0] == status and body in (None, got[1])


async def taken(envoy: Envoy, cluster: str) -> dict[str, int]:
    """How often resources were taken, by Envoy's count: clusters, listeners, routes, the endpoints of `cluster`.

    An answer without resources counts nowhere here.
    """
    managers = r"cluster_manager\.cluster_(added|modified|removed|updated)|listener_manager\.listener_(added|modified)"
    others = rf".*\.rds\..*\.(config_reload|update_success)|cluster\.{cluster}\.update_success"
    return await envoy.stats(f"^({managers}|{others})$")


async def updates(envoy: Envoy) -> dict[str, int]:
    """How often each kind of configuration was asked for, taken and refused, by Envoy's count.

    Without the control plane's own cluster: its counters move with each look-up of its name.
    """
    counts = await envoy.stats(CONFIG_STATS)
    return {name: count for name, count in counts.items() if not name.startswith("cluster.tidegate.")}


async def last_updated(envoy: Envoy) -> dict[str, str]:
    """When each dynamic cluster, listener and route configuration was last taken, by Envoy's clock."""
    clusters = await envoy.dump("dynamic_active_clusters")
    listeners = await envoy.dump("dynamic_listeners")
    routes = await envoy.dump("dynamic_route_configs")
    moments = {f"cds/{entry['cluster']['name']}": entry["last_updated"] for entry in clusters}
    moments |= {f"lds/{entry['name']}": entry["active_state"]["last_updated"] for entry in listeners}
    return moments | {f"rds/{entry['route_config']['name']}": entry["last_updated"] for entry in routes}


def whole_state(updated: Mapping[str, object]) -> dict[str, object]:
    """Of what `last_updated` tells, clusters and listeners: in SotW these are not sent again at an equal version."""
    return {key: at for key, at in updated.items() if not key.startswith("rds")}


async def refusal(plane: ControlPlane, node: str, kind: str, *, after: int) -> dict[str, Any]:
    """Wait until `node` refused what it was last sent of `kind`, after version number `after`; return what is told.

    What was sent need not be the group's version of that type: make before break has steps in between.
    """

    async def nacked() -> dict[str, Any] | None:
        group, answer = await plane.group(), await plane.node(node)
        state = answer.get("types", {}).get(kind, {})
        told: dict[str, Any] | None = state.get("nacked")
        fresh = group.get("seq", 0) > after and told and told["version"] == state["sent"]["version"]
        return told if fresh else None

    return await until(nacked, within=10, what=f"{node} refuses {kind}")


async def handshake(address: str, context: ssl.SSLContext) -> int | None:
    """The serial number of the certificate that a TLS server shows; None when there is no handshake."""
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname=host)
    except OSError:
        return None
    try:
        return serial_of(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    finally:
        writer.close()


async def shows(envoy: Envoy, listener: str, serial: int, context: ssl.SSLContext) -> bool:
    """Whether `listener` is open and shows the certificate with `serial`."""
    address = await envoy.listener_now(listener)
    return address is not None and await handshake(address, context) == serial


async def wait_for_certificate(
    envoy: Envoy, listener: str, serial: int, context: ssl.SSLContext, *, within: float
) -> None:
    """Wait until `listener` shows the certificate with `serial`."""
    probe = partial(shows, envoy, listener, serial, context)
    await until(probe, within=within, what=f"{envoy.node} shows the certificate {serial}")


async def served_endpoints(plane: ControlPlane, name: str, group: str = "default") -> set[str]:
    """The `host:port` of each endpoint of assignment `name` in the version that is served now."""
    version = (await plane.group(group))["version"]
    answer = await plane.get(f"/v1/groups/{group}/versions/{version}")
    return {
        f"{address['address']}:{address.get('portValue', address.get('port_value'))}"
        for resource in answer["resources"]
        if (resource["type"], resource["name"]) == ("eds", name)
        for locality in resource["resource"].get("endpoints", [])
        for entry in locality.get("lbEndpoints", locality.get("lb_endpoints", []))
        for address in [_socket_address(entry)]
    }


def _socket_address(entry: Json) -> Json:
    address = entry["endpoint"]["address"]
    found: Json = address.get("socketAddress") or address["socket_address"]
    return found
