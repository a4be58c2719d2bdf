"""Which plug-ins are installed, by the names of their entry points."""

from __future__ import annotations

from importlib.metadata import entry_points


def plug_ins(group: str) -> frozenset[str]:
    """Names in the entry point group; nothing of the plug-ins is imported."""
    return frozenset(point.name for point in entry_points(group=group))
