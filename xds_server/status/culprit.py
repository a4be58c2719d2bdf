"""From a refusal to its culprits: which declared objects made the contents that a node refused. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from xds_server.ir.origin import Origin
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource


def origins_of(suspects: Iterable[Resource], current: Typeset) -> tuple[Origin, ...]:
    """Where the refused contents are declared, each place once; `current` is what the group has of their type now.

    A content that is still served knows best where it is declared by now; of another one the place where it was
    declared when it was refused is told.
    """
    found: dict[Origin, None] = {}
    for suspect in suspects:
        served = current.get(suspect.name)
        same = served is not None and served.version == suspect.version
        found.update(dict.fromkeys(served.origins if same and served is not None else suspect.origins))
    return tuple(found)


def as_json(origin: Origin) -> dict[str, object]:
    """An origin as the `Origin` shape of the admin API, for events."""
    return {
        "source": origin.source,
        "path": origin.path,
        "document": origin.document,
        "line": origin.line,
        "apiVersion": origin.api_version,
        "kind": origin.kind,
        "namespace": origin.namespace,
        "name": origin.name,
        "generation": origin.generation,
    }
