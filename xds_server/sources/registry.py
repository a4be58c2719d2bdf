"""Which sources the settings ask for, made by the factories that distributions register as entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from xds_server.settings.root import Settings
from xds_server.settings.sources import GROUP, FilesEntry, PlugInEntry
from xds_server.sources.base import Source
from xds_server.sources.files import FilesSource

Factory = Callable[..., Source]
"""Called with `name=` and the entry's own keys."""


def make_sources(settings: Settings) -> list[Source]:
    """A source for each entry of the settings, named by its kind, and by its place where a kind comes again."""
    sources: list[Source] = []
    for entry in settings.sources:
        taken = {source.name for source in sources}
        name = entry.kind if entry.kind not in taken else f"{entry.kind}-{len(sources) + 1}"
        if isinstance(entry, FilesEntry):
            sources.append(FilesSource(name, Path(entry.path), entry.watch, settings.files.settle))
        elif isinstance(entry, PlugInEntry):
            factory: Factory = next(iter(entry_points(group=GROUP, name=entry.kind))).load()
            sources.append(factory(name=name, **(entry.model_extra or {})))
    return sources
