"""The difference of two snapshots, by resource: what an operator asks when something has changed."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.resource import Resource


@dataclass(frozen=True, slots=True)
class SnapshotDiff:
    """Resources added, removed, and changed (as pairs of before and after), each sorted by type and name."""

    added: tuple[Resource, ...]
    removed: tuple[Resource, ...]
    changed: tuple[tuple[Resource, Resource], ...]


def diff(before: Snapshot, after: Snapshot) -> SnapshotDiff:
    """Compare two snapshots of a group."""
    added: list[Resource] = []
    removed: list[Resource] = []
    changed: list[tuple[Resource, Resource]] = []
    for url in sorted(before.types.keys() | after.types.keys()):
        old, new = before.typeset(url), after.typeset(url)
        difference = new.since(old)
        for resource in sorted(difference.changed, key=lambda each: each.name):
            was = old.get(resource.name)
            if was is None:
                added.append(resource)
            else:
                changed.append((was, resource))
        removed.extend(old.resources[name] for name in sorted(difference.removed))
    return SnapshotDiff(tuple(added), tuple(removed), tuple(changed))
