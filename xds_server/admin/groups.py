"""`/v1/groups…`: the groups, their versions, what is in a version, and what differs between two."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from aiohttp import web

from xds_server.admin import present, shapes
from xds_server.admin.answers import answer, encoded
from xds_server.admin.deps import DEPS, WORKER, AdminDeps, Render
from xds_server.admin.fields import compare
from xds_server.admin.problems import not_found
from xds_server.admin.shapes import encode
from xds_server.admin.worker import Worker
from xds_server.snapshot.diff import diff
from xds_server.snapshot.groups import Group
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.delivery import delivery_of
from xds_server.wire.resource import Resource
from xds_server.wire.types import key_of


async def list_groups(request: web.Request) -> web.Response:
    """All groups."""
    deps = request.app[DEPS]
    made = await encoded(list(deps.groups), lambda each: shown(each, deps))
    return answer({"groups": made})


async def show_group(request: web.Request) -> web.Response:
    """One group."""
    group = find_group(request, request.match_info["group"])
    return answer(shown(group, request.app[DEPS]))


async def list_versions(request: web.Request) -> web.Response:
    """The versions that are kept of a group, newest first."""
    group = find_group(request, request.match_info["group"])
    return answer({"versions": await encoded(group.history(), lambda each: present.version(*each))})


async def show_version(request: web.Request) -> web.Response:
    """One version with all its resources."""
    group = find_group(request, request.match_info["group"])
    snapshot = find_version(group, request.match_info["version"])
    render, worker = request.app[DEPS].render, request.app[WORKER]
    return answer(await worker.run(lambda: _content(snapshot, render, worker)))


async def show_diff(request: web.Request) -> web.Response:
    """What differs between two versions of a group."""
    group = find_group(request, request.match_info["group"])
    newest, oldest = request.query.get("to"), request.query.get("from")
    after = find_version(group, newest) if newest else group.current
    if after is None:
        raise not_found(f"version of group {group.name!r} yet, so nothing to compare with", "current")
    before = find_version(group, oldest) if oldest else group.previous(after)
    found = diff(before or Snapshot(group.name, 0, 0.0), after)
    render, worker = request.app[DEPS].render, request.app[WORKER]
    head = {
        "from": before.version if before else None,
        "to": after.version,
        "from_seq": before.seq if before else 0,
        "to_seq": after.seq,
        "added": _names(found.added),
        "removed": _names(found.removed),
    }
    return answer(await worker.run(lambda: encode({**head, "changed": _changes(found.changed, render, worker)})))


def shown(group: Group, deps: AdminDeps) -> shapes.Group:
    """A group as it is now."""
    on_disk = deps.on_disk(group.current) if group.current is not None else None
    fleet = None
    if not deps.replicas.is_alone:
        fleet = present.fleet(delivery_of(group, deps.tracker, deps.replicas, ""))
    return present.group(group, deps.tracker.counts(group.name), on_disk, fleet)


def find_group(request: web.Request, name: str) -> Group:
    """The group of that name.

    Raises:
        RefusedError: There is none.
    """
    group = request.app[DEPS].groups.get(name)
    if group is None:
        raise not_found("group", name)
    return group


def find_version(group: Group, version: str) -> Snapshot:
    """The version of a group.

    Raises:
        RefusedError: There is none.
    """
    snapshot = group.find(version)
    if snapshot is None:
        raise not_found(f"version of group {group.name!r} with the version or seq", version)
    return snapshot


def _content(snapshot: Snapshot, render: Render, worker: Worker) -> bytes:
    resources: list[msgspec.Raw] = []
    for url in sorted(snapshot.types, key=key_of):
        for resource in sorted(snapshot.types[url], key=lambda each: each.name):
            resources.append(msgspec.Raw(encode(_resource(resource, render))))
            worker.pause()
    return encode({"seq": snapshot.seq, "version": snapshot.version, "resources": resources})


def _resource(resource: Resource, render: Render) -> shapes.Resource:
    return shapes.Resource(
        key_of(resource.type_url),
        resource.name,
        resource.version,
        dict(render(resource)),
        present.origins(resource.origins),
    )


def _names(resources: Sequence[Resource]) -> list[shapes.ResourceName]:
    return [shapes.ResourceName(key_of(each.type_url), each.name) for each in resources]


def _changes(pairs: Sequence[tuple[Resource, Resource]], render: Render, worker: Worker) -> list[msgspec.Raw]:
    changes: list[msgspec.Raw] = []
    for before, after in pairs:
        fields = compare(render(before), render(after))
        changes.append(msgspec.Raw(encode(shapes.ResourceChange(key_of(after.type_url), after.name, fields))))
        worker.pause()
    return changes
