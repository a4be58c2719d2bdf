"""Makes snapshots to store, and looks at what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

from xds_server.ir.origin import Origin
from xds_server.ir.refs import Refs
from xds_server.snapshot.history.last_good import Restored, restore_group
from xds_server.snapshot.history.segments import Bounds, GroupFiles
from xds_server.snapshot.history.vault import Vault
from xds_server.snapshot.snapshot import Change, Hold, LeftOut, Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, SECRET

PLAIN = Vault(lambda resource: resource.type_url == SECRET)
"""Hides secrets, and has no key."""

Step = Mapping[tuple[str, str], str | None]
"""What changes: (type URL, name) → content, None for a removal."""

STEPS = st.dictionaries(
    st.tuples(st.sampled_from([CLUSTER, SECRET]), st.sampled_from(["a", "b", "c", "dé"])),
    st.none() | st.sampled_from(["1", "2", "x" * 50]),
    max_size=4,
)


def resource(url: str, name: str, content: str) -> Resource:
    """A resource with references and an origin."""
    refs = Refs(assignments=frozenset({f"{name}-{content[:1]}"})) if url == CLUSTER else Refs()
    return Resource(name, url, content.encode(), refs, (Origin("files", "a/b.yaml", 2, 7, url, "Kind", "", name),))


def made(steps: Sequence[Step], group: str = "g") -> list[Snapshot]:
    """Snapshots that follow from each other by these steps."""
    types: dict[str, Typeset] = {CLUSTER: empty(CLUSTER), SECRET: empty(SECRET)}
    snapshots: list[Snapshot] = []
    for number, step in enumerate(steps, 1):
        for url in (CLUSTER, SECRET):
            changes = {name: content for (of, name), content in step.items() if of == url}
            types = {
                **types,
                url: types[url].evolve(
                    {name: None if each is None else resource(url, name, each) for name, each in changes.items()}
                ),
            }
        left_out = (LeftOut(CLUSTER, "ghost", "NoAssignment", "refers to", (Origin("files"),), partial=True),)
        held = Hold("v", 1, "127.0.0.1", "bäd", 5.5) if number % 3 == 0 else None
        snapshots.append(
            Snapshot(group, number, 100.0 + number, types, left_out * (number % 2), Change("files", f"c{number}"), held)
        )
    return snapshots


def store(
    folder: Path, snapshots: Sequence[Snapshot], vault: Vault = PLAIN, bounds: Bounds | None = None
) -> GroupFiles:
    """Store snapshots one by one, as one process does."""
    files = GroupFiles(folder, bounds or Bounds(), vault)
    for snapshot in snapshots:
        files.add([snapshot], snapshot.created)
    return files


def restore(folder: Path, vault: Vault = PLAIN, bounds: Bounds | None = None) -> Restored:
    """Read them back."""
    return restore_group(folder, bounds or Bounds(), vault, 100.0)


def seen(snapshot: Snapshot, hidden: str = "") -> object:
    """All that there is to a snapshot; of resources of the type `hidden` not the bytes."""
    contents = {
        (url, each.name): (each.version, each.refs, each.origins, each.body if each.is_known and url != hidden else b"")
        for url, typeset in snapshot.types.items()
        for each in typeset
    }
    return (
        snapshot.group,
        snapshot.seq,
        snapshot.version,
        snapshot.created,
        snapshot.origin,
        snapshot.held,
        snapshot.left_out,
        sorted(snapshot.types),
        contents,
    )


def without_secrets(snapshot: Snapshot) -> object:
    """The same, of a snapshot that was never stored: as it is when its secrets are left out."""
    return seen(snapshot, SECRET)
