"""Provenance: which declared object, in which file, made a thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object was declared; the `Origin` shape of the admin API.

    `document` counts from 1 within the file, `line` from 1; both are 0 where a source has no files.
    `kind` of a native xDS resource is its message's name (`Cluster`), `api_version` its type URL.
    """

    source: str
    path: str = ""
    document: int = 0
    line: int = 0
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    generation: int = 0

    def __str__(self) -> str:
        """Say it as a compiler does: `file:line`, else the object's identity."""
        if self.path:
            return f"{self.path}:{self.line}" if self.line else self.path
        return self.identity or self.source

    @property
    def identity(self) -> str:
        """Which object it is, as people write it: kind, namespace, name; "" where that is not known."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    @property
    def in_file(self) -> str:
        """What follows the object's name: ` (file:line)`; nothing where the source has no files."""
        return f" ({self})" if self.path else ""
