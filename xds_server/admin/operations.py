"""The table of all paths: the application is made of it, and so is the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web
from msgspec import Struct

from xds_server.admin import (
    audit,
    change_shapes,
    events,
    export,
    gateway_shapes,
    gateways,
    groups,
    health,
    node_shapes,
    nodes,
    origins,
    pages,
    push,
    push_shapes,
    replica,
    replica_shapes,
    rollback,
    shapes,
    switch_shapes,
    switches,
)
from xds_server.admin.audit import MOST_ENTRIES, MOST_ID


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a path, the query or a header; with `most` it is a number from `least` to that."""

    name: str
    help: str
    within: str = "path"
    required: bool = True
    values: tuple[str, ...] = ()
    most: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path: `answer` is the shape of a JSON answer, or the media type of another one.

    `refusals` are the problems that it may answer with, besides 500; `body` is the shape of what it is sent.
    """

    path: str
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    summary: str
    answer: type[Struct] | str
    parameters: tuple[Parameter, ...] = ()
    refusals: tuple[HTTPStatus, ...] = ()
    method: str = "GET"
    body: type[Struct] | None = None


_MISSING = (HTTPStatus.NOT_FOUND,)
_WRONG_OR_MISSING = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_WRITES = (*_WRONG_OR_MISSING, HTTPStatus.FORBIDDEN, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
_PUSHES = (
    *_WRITES,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_SWITCHES = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
_OWNER = Parameter("owner", "Name of the program that owns the set.")
_GROUP = Parameter("group", "Name of a group.")
_VERSION = Parameter("version", "A version, or its seq.")
_FROM = Parameter("from", "A version or seq; the one before `to` when not given.", "query", required=False)
_TO = Parameter("to", "A version or seq; the current one when not given.", "query", required=False)
_IN_GROUP = Parameter("group", "Only nodes of this group.", "query", required=False)
_CONNECTED = Parameter(
    "connected", "Only nodes that are, or are not.", "query", required=False, values=("true", "false")
)
_OF_GROUP = Parameter("group", "Name of a group.", "query")
_TYPE = Parameter("type", "cds, eds, lds, rds, sds, or a type URL.", "query")
_NAME = Parameter("name", "Name of the resource.", "query")
_AFTER = Parameter(
    "after",
    "Entries after this one in the list, so older ones; `next` of an answer.",
    "query",
    required=False,
    most=MOST_ID,
)
_LIMIT = Parameter(
    "limit", "So many entries at most; 100 when not given.", "query", required=False, most=MOST_ENTRIES, least=1
)
_FOLLOW = Parameter(
    "follow",
    "With `false`, end after the events that are kept.",
    "query",
    required=False,
    values=("true", "false"),
)
_SEEN = Parameter("Last-Event-ID", "Send the events after this one, as far as they are kept.", "header", required=False)
_INSTANCE = Parameter("instance", "`instance` of the last answer.", "query", required=False)
_SEEN_SEQ = Parameter("after", "`seq` of the last answer.", "query", required=False, most=replica.MOST_SEQ)
_WAIT = Parameter(
    "wait", "Seconds to wait for a change; 0 when not given.", "query", required=False, most=replica.MOST_WAIT
)

OPERATIONS = (
    Operation("/", pages.index, "Where everything is.", "text/html"),
    Operation("/openapi.json", pages.openapi, "This document.", "application/json"),
    Operation("/healthz", health.alive, "Liveness.", shapes.Health),
    Operation("/readyz", health.ready, "Readiness.", shapes.Health, refusals=(HTTPStatus.SERVICE_UNAVAILABLE,)),
    Operation("/metrics", health.metrics, "Metrics for Prometheus.", "text/plain"),
    Operation("/v1/groups", groups.list_groups, "All groups.", shapes.Groups),
    Operation("/v1/groups/{group}", groups.show_group, "One group.", shapes.Group, (_GROUP,), _MISSING),
    Operation(
        "/v1/groups/{group}/versions",
        groups.list_versions,
        "The versions that are kept, newest first.",
        shapes.Versions,
        (_GROUP,),
        _MISSING,
    ),
    Operation(
        "/v1/groups/{group}/versions/{version}",
        groups.show_version,
        "The resources of one version, without private keys.",
        shapes.VersionContent,
        (_GROUP, _VERSION),
        _MISSING,
    ),
    Operation(
        "/v1/groups/{group}/diff",
        groups.show_diff,
        "What differs between two versions, field by field.",
        shapes.Diff,
        (_GROUP, _FROM, _TO),
        _MISSING,
    ),
    Operation(
        "/v1/groups/{group}/rollback",
        rollback.roll_back,
        "Go back to a version and stay there; endpoints and secrets go on flowing.",
        shapes.Group,
        (_GROUP,),
        (*_WRITES, HTTPStatus.CONFLICT),
        "POST",
        change_shapes.RollbackRequest,
    ),
    Operation(
        "/v1/groups/{group}/rollback",
        rollback.release,
        "Release the group: what is declared is served again.",
        shapes.Group,
        (_GROUP,),
        (*_WRITES, HTTPStatus.CONFLICT),
        "DELETE",
        change_shapes.ReleaseRequest,
    ),
    Operation(
        "/v1/nodes", nodes.list_nodes, "All nodes.", node_shapes.Nodes, (_IN_GROUP, _CONNECTED), _WRONG_OR_MISSING
    ),
    Operation(
        "/v1/nodes/{node}",
        nodes.show_node,
        "One node, stream by stream.",
        node_shapes.NodeById,
        (Parameter("node", "Id of a node."),),
        _MISSING,
    ),
    Operation(
        "/v1/nodes/{node}/config",
        nodes.show_config,
        "What one node was sent, has accepted and refuses, resource by resource.",
        node_shapes.NodeConfig,
        (Parameter("node", "Id of a node that is connected."),),
        _MISSING,
    ),
    Operation(
        "/v1/gateways",
        gateways.list_gateways,
        "All gateways: where their routes lead, and why.",
        gateway_shapes.Gateways,
    ),
    Operation(
        "/v1/gateways/{namespace}/{name}",
        gateways.show_gateway,
        "One gateway, as a list of one.",
        gateway_shapes.Gateways,
        (Parameter("namespace", "Namespace of a gateway."), Parameter("name", "Name of a gateway.")),
        _MISSING,
    ),
    Operation(
        "/v1/observers", gateways.list_observers, "What is known of all that routes watch.", gateway_shapes.Observers
    ),
    Operation("/v1/switches", switches.show_switches, "What operators have decided.", switch_shapes.Switches),
    Operation(
        "/v1/switches",
        switches.put_switches,
        "Replace the switches of the keys that are given.",
        switch_shapes.Switches,
        (),
        _SWITCHES,
        "PUT",
        switch_shapes.SwitchesRequest,
    ),
    Operation(
        "/v1/replica",
        replica.tell,
        "What this replica tells the others of its nodes, once anything has changed.",
        replica_shapes.Replica,
        (_INSTANCE, _SEEN_SEQ, _WAIT),
        (HTTPStatus.BAD_REQUEST,),
    ),
    Operation("/v1/sources", origins.list_sources, "How the sources fare.", shapes.Sources),
    Operation(
        "/v1/explain",
        origins.explain,
        "Which objects and observations made a resource.",
        shapes.Explanation,
        (_OF_GROUP, _TYPE, _NAME),
        _WRONG_OR_MISSING,
    ),
    Operation(
        "/v1/audit",
        audit.list_entries,
        "Who changed what, newest first.",
        change_shapes.AuditLog,
        (_AFTER, _LIMIT),
        (HTTPStatus.BAD_REQUEST,),
    ),
    Operation(
        "/v1/push/{owner}/{group}",
        push.put_set,
        "Replace an owner's set of resources of a group.",
        push_shapes.PushAnswer,
        (_OWNER, _GROUP),
        _PUSHES,
        "PUT",
        push_shapes.PushRequest,
    ),
    Operation(
        "/v1/push/{owner}/{group}",
        push.patch_set,
        "Change an owner's set of resources of a group.",
        push_shapes.PushAnswer,
        (_OWNER, _GROUP),
        _PUSHES,
        "PATCH",
        push_shapes.PushChange,
    ),
    Operation(
        "/v1/push/{owner}/{group}",
        push.delete_set,
        "Drop an owner's set of resources of a group.",
        push_shapes.PushAnswer,
        (_OWNER, _GROUP),
        (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN),
        "DELETE",
    ),
    Operation(
        "/v1/export",
        export.export,
        "All that is needed to see a fault again elsewhere, as one archive without secrets.",
        "application/gzip",
        (_OF_GROUP, Parameter("version", "A version or seq; the current one when not given.", "query", required=False)),
        _WRONG_OR_MISSING,
    ),
    Operation(
        "/v1/events",
        events.follow,
        "What happens, as it happens.",
        "text/event-stream",
        (_SEEN, _FOLLOW),
        (HTTPStatus.BAD_REQUEST,),
    ),
)
"""All that there is."""
