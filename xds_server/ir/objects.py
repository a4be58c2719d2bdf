"""Declared objects: what sources hand over of Kubernetes-style manifests, decoded and typed, not yet looked into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem


class ObjectKey(NamedTuple):
    """The identity of an object; `api_group` is the part of `apiVersion` before the slash, "" for core kinds."""

    api_group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: kind, namespace, name."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    @classmethod
    def of(cls, origin: Origin) -> ObjectKey:
        """The identity of the object of which an origin tells."""
        api_group = origin.api_version.rpartition("/")[0]
        return cls(api_group, origin.kind, origin.namespace, origin.name)


@dataclass(frozen=True, slots=True)
class Object:
    """One object as declared.

    `value` is the typed object (a frozen value, compared by content); what it is, only the translation of its kind
    to the model knows. `folder_group` is the group of the place where it was declared, "default" where that says none.
    """

    key: ObjectKey
    value: object
    origin: Origin
    folder_group: str = "default"


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known under one identity: the object in force, and what is wrong with what was declared last.

    `object` is the last good one where the newest could not be read, None where there never was a good one.
    `duplicates` are of other declarations of that identity, which are not in force.
    """

    object: Object | None
    problems: tuple[Problem, ...] = ()
    duplicates: tuple[Problem, ...] = ()
