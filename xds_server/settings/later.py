"""Keys whose feature comes with a later version: they are accepted, and said to be without effect.

When a feature comes, its entry here goes; the reference page follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from xds_server.settings.base import Section
from xds_server.settings.root import Settings

LATER = frozenset(
    {
        "xds.advertise",
        "xds.auth.token_review",
        "rollout",
        "provision",
        "kubernetes",
    }
)
"""Paths; what lies below one is meant too."""

LATER_KINDS = frozenset({"kubernetes"})
"""Kinds of sources."""


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
            kinds = enumerate(entry.kind for entry in value)
            yield from (f"sources[{index}] (kind {kind})" for index, kind in kinds if kind in LATER_KINDS)
