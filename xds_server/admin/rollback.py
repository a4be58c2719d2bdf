"""`/v1/groups/{group}/rollback`: go back to a version and stay there; go on."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from http import HTTPStatus

import msgspec
from aiohttp import web

from xds_server.admin import present, shapes
from xds_server.admin.answers import answer
from xds_server.admin.change_shapes import ReleaseRequest, RollbackRequest
from xds_server.admin.deps import DEPS, AdminDeps
from xds_server.admin.groups import find_group, shown
from xds_server.admin.problems import RefusedError
from xds_server.admin.shapes import FieldError
from xds_server.admin.writes import actor_of, body_of
from xds_server.snapshot.groups import Group
from xds_server.snapshot.snapshot import Hold
from xds_server.status.audit_entry import Action
from xds_server.status.stamps import stamp

_PATIENCE = 5.0
"""Seconds that an answer waits for the disk; what is served does not."""


async def roll_back(request: web.Request) -> web.Response:
    """Hold the group at a version that is kept, until it is released."""
    deps = request.app[DEPS]
    actor = actor_of(request)
    group = find_group(request, request.match_info["group"])
    asked = await body_of(request, RollbackRequest)
    version = group.find(str(asked.to))
    if version is None:
        text = f"there is no version {str(asked.to)!r} of group {group.name!r} any more, if there ever was"
        raise RefusedError(
            HTTPStatus.NOT_FOUND, text, [FieldError("to", "expected a version that is kept, or its seq")]
        )
    _refuse_read_only(deps)
    before = _held(group)
    held = Hold(version.version, version.seq, actor, asked.reason, time.time())
    snapshot = await deps.rollbacks.hold(group.name, held, version)
    deps.audit.record(
        Action.ROLLBACK,
        group.name,
        actor=actor,
        reason=asked.reason,
        before=before,
        after=_held(group),
        version=snapshot.version,
    )
    return await _answer(deps, group)


async def release(request: web.Request) -> web.Response:
    """Serve what is declared again."""
    deps = request.app[DEPS]
    actor = actor_of(request)
    group = find_group(request, request.match_info["group"])
    asked = await body_of(request, ReleaseRequest)
    before = _held(group)
    if before is None:
        raise RefusedError(HTTPStatus.CONFLICT, f"group {group.name!r} is not held at a version")
    _refuse_read_only(deps)
    snapshot = await deps.rollbacks.release(group.name, asked.reason)
    deps.audit.record(
        Action.RELEASE, group.name, actor=actor, reason=asked.reason, before=before, version=snapshot.version
    )
    return await _answer(deps, group)


def _refuse_read_only(deps: AdminDeps) -> None:
    switch = deps.switches.switches.read_only
    if switch is not None:
        text = f"nothing is published: read-only since {stamp(switch.since)} by {switch.by}: {switch.reason}"
        raise RefusedError(HTTPStatus.CONFLICT, text)


async def _answer(deps: AdminDeps, group: Group) -> web.Response:
    """The group, once what was done to it is on disk; where that takes too long it says so itself (`stored`)."""
    with suppress(TimeoutError):
        await asyncio.wait_for(deps.stored(), _PATIENCE)
    return answer(shown(group, deps))


def _held(group: Group) -> object:
    """The hold of a group as a JSON value, null where there is none."""
    held = group.current.held if group.current else None
    shape: shapes.Hold | None = present.hold(held) if held else None
    return msgspec.to_builtins(shape)
