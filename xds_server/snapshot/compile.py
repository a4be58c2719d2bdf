"""Compiling a unit: each declared document becomes a resource or a problem; pure, and the costly part of a publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.problem import Problem, ProblemError
from xds_server.wire.resource import Resource

Decode = Callable[[NativeDocument], Resource]

Address = tuple[str, str, str]
"""(group, type URL, name)."""


@dataclass(slots=True)
class CompiledUnit:
    """What a unit declares, by address.

    `invalid` has the problems of documents whose address is known, so that their last good content can stay;
    `nameless` tells that there are others, so that nothing the unit declared before can be taken for deleted.
    """

    key: str
    resources: dict[Address, Resource] = field(default_factory=dict)
    invalid: dict[Address, Problem] = field(default_factory=dict)
    duplicates: dict[Address, Problem] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    nameless: bool = False
    broken: bool = False


def compile_unit(unit: Unit, decode: Decode) -> CompiledUnit:
    """Decode every document of a unit; of two with one address the first counts and the other is told."""
    compiled = CompiledUnit(unit.key, problems=list(unit.problems), broken=unit.broken)
    for document in unit.documents:
        try:
            resource = decode(document)
        except ProblemError as error:
            _note_invalid(compiled, document, error.problem)
            continue
        address = (document.group, resource.type_url, resource.name)
        first = compiled.resources.get(address)
        if first is None:
            compiled.resources[address] = resource
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


def _note_invalid(compiled: CompiledUnit, document: NativeDocument, problem: Problem) -> None:
    compiled.problems.append(problem)
    type_url = document.body.get("@type")
    name = document.body.get("name") or document.body.get("cluster_name") or document.body.get("clusterName")
    if isinstance(type_url, str) and isinstance(name, str):
        compiled.invalid[document.group, type_url, name] = problem
    else:
        compiled.nameless = True
