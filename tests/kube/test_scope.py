"""What of a cluster is read: namespaces, labels, types of Secrets, and the group that an object names."""

from __future__ import annotations

import asyncio
from functools import partial

from tests.support.fleet import SLACK, Fleet
from tests.support.kube import Kube
from tests.support.kube_shop import install
from tests.support.kube_world import KubeWorld, settings, source
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.manifests import Manifest
from xds_server.demo.polling import until


async def _serves(plane: ControlPlane, group: str, *hosts: str) -> bool:
    """Whether the route configurations of a group have these hosts, and no others."""
    answer = await plane.group(group)
    if not answer.get("seq"):
        return not hosts
    found = await plane.get(f"/v1/groups/{group}/versions/{answer['seq']}")
    routes = [each["resource"] for each in found["resources"] if each["type"] == "rds"]
    names = {domain for each in routes for virtual in each["virtual_hosts"] for domain in virtual["domains"]}
    return {host for host in names if host.endswith(".example")} == set(hosts)


def _labelled(manifest: Manifest, host: str, **labels: str) -> Manifest:
    """A gateway for one host, with labels, of the group that its host says."""
    metadata = {**manifest["metadata"], "labels": labels, "annotations": {"tidegate.dev/group": "scoped"}}
    routes = [{**each, "hosts": [host]} for each in manifest["spec"]["routes"]]
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "routes": routes}}


async def test_namespaces_labels_and_groups(kube: Kube, namespace: str, fleet: Fleet) -> None:
    await asyncio.to_thread(install, kube)
    world, elsewhere = KubeWorld(kube, namespace), KubeWorld(kube, kube.client.namespace(f"{namespace}-other"))
    opaque = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "opaque", "namespace": namespace}}
    await world.put(*world.backend("a"), {**opaque, "stringData": {"a": "planted"}})
    await elsewhere.put(*elsewhere.backend("a"))
    await elsewhere.put(_labelled(elsewhere.gateway("far", "a"), "far.example", tier="edge"))
    ours = _labelled(world.gateway("near", "a"), "near.example", tier="edge")
    other = _labelled(world.gateway("inner", "a"), "inner.example", tier="inner")
    await world.put(ours, other)
    sections: Json = settings(kube.kubeconfig, namespace)
    sections["sources"][0]["label_selector"] = "tier in (edge)"
    plane = fleet.tidegate(sections)
    await plane.start(within=20 * SLACK)
    assert await _serves(plane, "scoped", "near.example")
    assert (await source(plane))["objects"] == {"DynamicGateway": 1, "EndpointSlice": 1, "Service": 1}
    await world.put(_labelled(other, "inner.example", tier="edge"))
    both = partial(_serves, plane, "scoped", "inner.example", "near.example")
    await until(both, within=10 * SLACK, what="one that has got the label is served")
    await world.put(_labelled(ours, "near.example", tier="inner"))
    one = partial(_serves, plane, "scoped", "inner.example")
    await until(one, within=10 * SLACK, what="one that has lost it is not")
