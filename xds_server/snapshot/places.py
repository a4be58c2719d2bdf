"""Places where things are declared, as their origins tell them: files, or single objects where a source has no files."""

from __future__ import annotations

from xds_server.ir.declared import Unit
from xds_server.ir.origin import Origin

Place = tuple[int, str]
"""(rank of the source, place within it)"""

NOBODY = -1
"""The rank of what came from sources that are not configured any more."""


def place_of(origin: Origin) -> str:
    """A file, or an object of a source that has no files (and so no lines)."""
    if origin.path and (origin.line or not origin.kind):
        return origin.path
    return f"{origin.path}/{origin.api_version}/{origin.kind}/{origin.namespace}/{origin.name}"


def places_of(unit: Unit) -> dict[str, None]:
    """All places of which a unit tells."""
    emptied = () if unit.emptied is None else (unit.emptied,)
    origins = [each.origin for each in (*unit.documents, *unit.objects, *unit.problems, *emptied)]
    return dict.fromkeys(place_of(origin) for origin in origins)
