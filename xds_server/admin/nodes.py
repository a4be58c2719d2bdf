"""`/v1/nodes…`: each Envoy, stream by stream."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from aiohttp import web

from xds_server.admin import node_shapes, present
from xds_server.admin.answers import answer, encoded, flag
from xds_server.admin.deps import DEPS, WORKER
from xds_server.admin.problems import not_found
from xds_server.admin.shapes import encode
from xds_server.admin.worker import Worker
from xds_server.status.config import TypeView, newest, rows
from xds_server.wire.types import key_of


async def list_nodes(request: web.Request) -> web.Response:
    """All streams, or those of one group, or those that are (not) connected."""
    deps = request.app[DEPS]
    connected = flag(request, "connected")
    group = request.query.get("group")
    reports = deps.tracker.nodes(group=group)
    if group is not None and not reports and deps.groups.get(group) is None:
        raise not_found("group", group)
    chosen = [each for each in reports if connected in (None, each.connected)]
    made = await encoded(chosen, lambda each: present.node(each, deps.bulletin.name))
    return answer({"nodes": made, "others": deps.replicas.names})


async def show_node(request: web.Request) -> web.Response:
    """All streams of one node id."""
    deps = request.app[DEPS]
    node = request.match_info["node"]
    reports = deps.tracker.nodes(node_id=node)
    if not reports:
        raise not_found("node", node)
    return answer(node_shapes.NodeById(node, [present.node(each, deps.bulletin.name) for each in reports]))


async def show_config(request: web.Request) -> web.Response:
    """What one node was sent, has accepted and refuses, resource by resource."""
    deps, worker = request.app[DEPS], request.app[WORKER]
    node = request.match_info["node"]
    streams = deps.tracker.live(node_id=node)
    if not streams:
        raise not_found("connected node", node)
    views = newest(each.config() for each in streams)
    return answer(await worker.run(lambda: _config(node, views, worker)))


def _config(node: str, views: Sequence[TypeView], worker: Worker) -> bytes:
    resources: list[msgspec.Raw] = []
    for view in sorted(views, key=lambda each: key_of(each.type_url)):
        for row in rows(view):
            resources.append(msgspec.Raw(encode(present.node_resource(row))))
            worker.pause()
    return encode({"id": node, "resources": resources})
