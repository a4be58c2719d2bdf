"""`/v1/nodes…`: each Envoy, stream by stream."""

from __future__ import annotations

from aiohttp import web

from xds_server.admin import node_shapes, present
from xds_server.admin.answers import answer, encoded, flag
from xds_server.admin.deps import DEPS
from xds_server.admin.problems import not_found


async def list_nodes(request: web.Request) -> web.Response:
    """All streams, or those of one group, or those that are (not) connected."""
    deps = request.app[DEPS]
    connected = flag(request, "connected")
    group = request.query.get("group")
    reports = deps.tracker.nodes(group=group)
    if group is not None and not reports and deps.groups.get(group) is None:
        raise not_found("group", group)
    chosen = [each for each in reports if connected in (None, each.connected)]
    return answer({"nodes": await encoded(chosen, lambda each: present.node(each, deps.replica))})


async def show_node(request: web.Request) -> web.Response:
    """All streams of one node id."""
    deps = request.app[DEPS]
    node = request.match_info["node"]
    reports = deps.tracker.nodes(node_id=node)
    if not reports:
        raise not_found("node", node)
    return answer(node_shapes.NodeById(node, [present.node(each, deps.replica) for each in reports]))
