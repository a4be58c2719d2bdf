"""Keys whose feature comes with a later version: they are accepted, and said to be without effect.

When a feature comes, its entry here goes; the reference page follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xds_server.settings.base import Section
from xds_server.settings.root import Settings
from xds_server.settings.sources import SourceEntry

LATER = frozenset(
    {
        "xds.advertise",
        "rollout",
        "provision",
        "sources[].gateway_class_controller",
    }
)
"""Paths; what lies below one is meant too."""


def without_effect(settings: Settings) -> list[str]:
    """The keys that were configured and whose feature has not come, in the order of the schema.

    A key counts as configured when it was written, even with its default value.
    """
    return list(_configured(settings, ""))


def comes_later(path: str) -> bool:
    """True when the key, or one around it, is in the table."""
    return any(path == later or path.startswith((f"{later}.", f"{later}[")) for later in LATER)


def _configured(section: Section, prefix: str) -> Iterator[str]:
    for name in type(section).model_fields:
        if name not in section.model_fields_set:
            continue
        path, value = f"{prefix}{name}", getattr(section, name)
        if path in LATER:
            yield path
        elif isinstance(value, Section):
            yield from _configured(value, f"{path}.")
        elif path == "sources":
            yield from _of_sources(value)


def _of_sources(entries: Sequence[SourceEntry]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        names = (name for name in type(entry).model_fields if name in entry.model_fields_set)
        yield from (f"sources[{index}].{name}" for name in names if f"sources[].{name}" in LATER)
