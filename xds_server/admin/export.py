"""`/v1/export`: one archive with all that is needed to see a fault again elsewhere, without secrets."""

from __future__ import annotations

import gzip
import io
import platform
import sys
import tarfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from xds_server.admin import present, shapes
from xds_server.admin.answers import required
from xds_server.admin.deps import DEPS, WORKER, AdminDeps
from xds_server.admin.groups import find_group, find_version
from xds_server.admin.problems import not_found
from xds_server.admin.worker import Worker
from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.stamps import stamp
from xds_server.translate.replay import archived, without_secrets
from xds_server.wire.resource import Resource
from xds_server.wire.types import key_of

FORMAT = 1
"""Of the archive."""

_LIBRARIES = ("aiohttp", "grpcio", "msgspec", "protobuf", "pydantic", "ruamel.yaml", "uvloop", "xds-protos")


async def export(request: web.Request) -> web.Response:
    """The archive of one version of a group; of the current one when none is named."""
    (name,) = required(request, "group")
    group = find_group(request, name)
    wanted = request.query.get("version")
    snapshot = find_version(group, wanted) if wanted else group.current
    if snapshot is None:
        raise not_found(f"version of group {name!r} yet, so nothing to export", "current")
    deps, worker = request.app[DEPS], request.app[WORKER]
    trail = _trail(deps, name)
    body = await worker.run(lambda: _archive(snapshot, trail, deps, worker))
    file = f"tidegate-{quote(name, safe='')}-{snapshot.seq}.tar.gz"
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{file}"'}
    return web.Response(body=io.BytesIO(body), content_type="application/gzip", headers=headers)


def _trail(deps: AdminDeps, group: str) -> dict[str, Any]:
    """Who acknowledged what, taken on the event loop."""
    nodes = [msgspec.to_builtins(present.node(each, deps.bulletin.name)) for each in deps.tracker.nodes(group=group)]
    events = [
        {"id": each.id, "at": stamp(each.at), "event": str(each.kind), **each.data}
        for each in deps.bus.recent()
        if each.data.get("group", group) == group
    ]
    return {"nodes.json": {"nodes": nodes}, "events.json": {"events": events}}


def _archive(snapshot: Snapshot, trail: Mapping[str, Any], deps: AdminDeps, worker: Worker) -> bytes:
    resources = [each for url in sorted(snapshot.types, key=key_of) for each in snapshot.types[url]]
    files, partial = _files(snapshot.group, resources, worker)
    rest = {
        "manifest.json": _manifest(snapshot, partial),
        **trail,
        "inputs.json": {"files": deps.evidence.inputs(), "objects": deps.evidence.objects()},
        "settings.json": deps.evidence.settings,
    }
    entries = {name: msgspec.json.encode(value) for name, value in files.items()}
    for name, value in rest.items():
        entries[name] = msgspec.json.encode(without_secrets(msgspec.to_builtins(value), resources))
        worker.pause()
    return _packed(entries, snapshot.created)


def _files(group: str, resources: Iterable[Resource], worker: Worker) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The resources by the file that they came from, in Envoy's file form; and those that are not there as a whole."""
    by_origin: dict[str, list[tuple[int, int, Any]]] = {}
    partial: list[dict[str, str]] = []
    for resource in resources:
        kept = archived(resource)
        origin = resource.origins[0] if resource.origins else None
        place = (origin.document, origin.line) if origin else (0, 0)
        by_origin.setdefault(origin.path if origin else "", []).append((*place, kept.item))
        if not kept.is_whole:
            partial.append({"type": key_of(resource.type_url), "name": resource.name})
        worker.pause()
    folder = "resources" if group == "default" else f"resources/group={quote(group, safe=' ')}"
    files = {}
    for number, path in enumerate(sorted(by_origin), 1):
        items = [item for *_, item in sorted(by_origin[path], key=lambda each: each[:2])]
        files[f"{folder}/{number:04}-{PurePosixPath(path).name or 'resources'}.json"] = {"resources": items}
    return files, partial


def _manifest(snapshot: Snapshot, partial: list[dict[str, str]]) -> dict[str, object]:
    return {
        "format": FORMAT,
        "group": snapshot.group,
        "version": snapshot.version,
        "seq": snapshot.seq,
        "created": stamp(snapshot.created),
        "origin": shapes.Change(snapshot.origin.source, snapshot.origin.change),
        "counts": present.counts(snapshot),
        "types": {key_of(url): typeset.version for url, typeset in snapshot.types.items()},
        "left_out": [present.left_out(each) for each in snapshot.unserved],
        "only_named": partial,
        "tidegate": version("tidegate"),
        "python": sys.version,
        "platform": platform.platform(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def _packed(entries: Mapping[str, bytes], created: float) -> bytes:
    """A tar.gz with these entries; of equal ones the same bytes."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=int(created)) as zipped:  # noqa: SIM117 - the second writes to the first
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(entries):
                info = tarfile.TarInfo(name)
                info.size, info.mtime, info.mode = len(entries[name]), int(created), 0o600
                archive.addfile(info, io.BytesIO(entries[name]))
    return raw.getvalue()
