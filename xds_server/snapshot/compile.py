"""Compiling a unit: each declared document becomes a resource or a problem; pure, and the costly part of a publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from xds_server.ir.declared import Declared, EncodedDocument, Unit
from xds_server.ir.problem import Problem, ProblemError
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT, PREFIX

Decode = Callable[[Declared], Resource]

Address = tuple[str, str, str]
"""(group, type URL, name)."""


K = TypeVar("K", bound=tuple[Any, ...])
T = TypeVar("T")


@dataclass(slots=True)
class CompiledUnit(Generic[K, T]):
    """What a unit declares, by key: resources by address, or objects by identity.

    `invalid` has the problems of what can't be read and whose key is known, so that its last good content can stay;
    `nameless` tells that there are others, so that nothing the unit declared before can be taken for deleted.
    """

    key: str
    members: dict[K, T] = field(default_factory=dict)
    invalid: dict[K, tuple[Problem, ...]] = field(default_factory=dict)
    duplicates: dict[K, Problem] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    nameless: bool = False
    broken: bool = False


def compile_unit(unit: Unit, decode: Decode) -> CompiledUnit[Address, Resource]:
    """Decode every document of a unit; of two with one address the first counts and the other is told."""
    compiled: CompiledUnit[Address, Resource] = CompiledUnit(unit.key, problems=list(unit.problems), broken=unit.broken)
    compiled.nameless = any(not problem.origin.name for problem in unit.problems)
    for document in unit.documents:
        try:
            resource = decode(document)
        except ProblemError as error:
            _note_invalid(compiled, document, error.problem)
            continue
        except Exception as error:  # noqa: BLE001 - one document that a decoder stumbles over must not stop the others
            # Not the error's own text, which may quote a secret.
            message = f"can't be decoded ({type(error).__name__})"
            _note_invalid(compiled, document, Problem(document.origin, "Undecodable", message, document.within))
            continue
        address = (document.group, resource.type_url, resource.name)
        first = compiled.members.get(address)
        if first is None:
            compiled.members[address] = resource
        else:
            field = f"{document.within}.name" if document.within else "name"
            compiled.duplicates[address] = duplicate(document.group, first, resource, field)
    return compiled


def duplicate(group: str, first: Resource, second: Resource, field: str = "") -> Problem:
    """The problem of a resource whose name is taken by another one of its group; `field` where the name stands."""
    taken = first.origins[0] if first.origins else "another one"
    kind = second.type_url.rpartition(".")[2]
    message = f"{kind} {second.name!r} of group {group!r} is declared already in {taken}, which keeps the name"
    return Problem(second.origins[0], "DuplicateName", message, field)


def _note_invalid(compiled: CompiledUnit[Address, Resource], document: Declared, problem: Problem) -> None:
    compiled.problems.append(problem)
    address = _address_of(document)
    # A wrong type is most often a slip in a type that was right before, and so tells nothing of what is meant.
    if address is None or problem.field in {"@type", f"{document.within}.@type"}:
        compiled.nameless = True
    else:
        compiled.invalid[address] = (problem,)


def _address_of(document: Declared) -> Address | None:
    """The address of a document that can't be decoded, as far as it tells type and name."""
    if isinstance(document, EncodedDocument):
        return (document.group, document.type_url, document.name)
    type_url = document.body.get("@type")
    if not isinstance(type_url, str):
        return None
    type_url = PREFIX + type_url.rpartition("/")[2]
    keys = ("cluster_name", "clusterName") if type_url == ENDPOINT else ("name",)
    name = next((document.body[key] for key in keys if document.body.get(key)), None)
    return (document.group, type_url, name) if isinstance(name, str) else None
