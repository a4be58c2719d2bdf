"""The list `sources`: where configuration comes from, one entry per way in, told apart by `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.kubernetes import KubernetesEntry
from xds_server.settings.plugins import plug_ins
from xds_server.settings.units import Count, Duration, Filename

GROUP = "tidegate.sources"
PLUG_IN = "plug-in"
BUILT_IN = ("files", "kubernetes", "push")


Owner = Annotated[str, Field(min_length=1)]
"""The name of a program that pushes."""


def _known_kind(kind: str) -> str:
    known = sorted({*BUILT_IN, *plug_ins(GROUP)})
    if kind in known:
        return kind
    raise PydanticCustomError("unknown_kind", "unknown kind", {"known": known})


class FilesEntry(Section):
    """A directory of native xDS documents and manifests."""

    kind: Literal["files"]
    """`files`"""
    path: Filename
    """Directory to read, with all below it, or one file; relative to the working directory."""
    watch: bool = True
    """Take up changes while running."""


class PushEntry(Section):
    """Sets of resources that outside programs own, over gRPC and HTTP."""

    kind: Literal["push"]
    """`push`; at most one entry is of this kind."""
    max_sets: Count = 1_000
    """Sets at most: one for each owner and group."""
    max_resources: Count = 200_000
    """Resources at most in all sets."""
    expect: tuple[Owner, ...] = ()
    """Owners without whose sets nothing is served after a start, unless the last known good is."""


class PlugInEntry(Section):
    """A way in of another distribution; all keys but `kind` are the plug-in's own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, object]

    kind: Annotated[str, AfterValidator(_known_kind)]
    """`files`, `kubernetes`, `push`, or the name of an entry point of the group `tidegate.sources`."""

    @property
    def options(self) -> dict[str, object]:
        """The plug-in's own keys, as they were written."""
        return dict(self.__pydantic_extra__)


def _tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in BUILT_IN else PLUG_IN


SourceEntry = Annotated[
    Annotated[FilesEntry, Tag("files")]
    | Annotated[KubernetesEntry, Tag("kubernetes")]
    | Annotated[PushEntry, Tag("push")]
    | Annotated[PlugInEntry, Tag(PLUG_IN)],
    Discriminator(_tag),
]
"""One entry of `sources`."""


def _single(entries: tuple[SourceEntry, ...]) -> tuple[SourceEntry, ...]:
    """Of two kinds there is one entry at most: pushes do not say to which they are made, nor writes to which cluster."""
    for kind in ("push", "kubernetes"):
        if sum(entry.kind == kind for entry in entries) > 1:
            raise PydanticCustomError("expected", f"at most one entry of kind {kind}")
    return entries


SourceEntries = Annotated[tuple[SourceEntry, ...], AfterValidator(_single)]
"""The list `sources`."""


class Files(Section):
    """The section `files`: what holds for all entries of kind `files`."""

    settle: Duration = 0.5
    """A file that is written in place is read after so long without a further write."""
