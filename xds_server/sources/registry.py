"""Which sources the settings ask for, made by the factories that distributions register as entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from xds_server.settings.kubernetes import KubernetesEntry
from xds_server.settings.root import Settings
from xds_server.settings.sources import GROUP, FilesEntry, PlugInEntry, PushEntry
from xds_server.sources.base import DecodeObject, Source
from xds_server.sources.files import FilesSource
from xds_server.sources.push import PushSource
from xds_server.sources.push.intake import Decode
from xds_server.sources.push.model import Limits

Factory = Callable[..., Source]
"""Called with `name=` and the entry's own keys."""


def make_sources(
    settings: Settings, decode: Decode, decode_object: DecodeObject, cluster: Source | None = None
) -> list[Source]:
    """A source for each entry of the settings, named by its kind, and by its place where a kind comes again.

    `decode` is for the source that looks into what it is given before it takes it, `decode_object` for those that
    read manifests. `cluster` is that of the Kubernetes cluster, if there is one.
    """
    sources: list[Source] = []
    for entry in settings.sources:
        taken = {source.name for source in sources}
        name = entry.kind if entry.kind not in taken else f"{entry.kind}-{len(sources) + 1}"
        if isinstance(entry, FilesEntry):
            sources.append(FilesSource(name, Path(entry.path), entry.watch, settings.files.settle, decode_object))
        elif isinstance(entry, KubernetesEntry) and cluster is not None:
            sources.append(cluster)
        elif isinstance(entry, PushEntry):
            limits = Limits(entry.max_sets, entry.max_resources)
            sources.append(PushSource(name, decode, limits, entry.expect))
        elif isinstance(entry, PlugInEntry):
            factory: Factory = next(iter(entry_points(group=GROUP, name=entry.kind))).load()
            sources.append(factory(name=name, **(entry.model_extra or {})))
    return sources
