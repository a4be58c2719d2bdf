"""`tidegate validate --envoy`: what a real Envoy says of all that would be served, traced back to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xds_server.cli.inputs import Documents, Inputs
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.preflight import EnvoyChecker, Refusal, examine
from xds_server.snapshot.preflight.gate import REASON
from xds_server.snapshot.snapshot import Snapshot
from xds_server.translate.inline import Find, Unchecked, inline, meant, told
from xds_server.translate.locate import field_in
from xds_server.wire.resource import Resource
from xds_server.wire.types import key_of

_PATIENCE = 120.0
"""Seconds for one question: here somebody waits for the answer, and nothing else does."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What Envoy refuses, and what of each group it could not look at, with its origin."""

    version: str
    problems: list[Problem]
    unchecked: list[tuple[Unchecked, Origin]]

    def notes(self) -> Iterator[str]:
        """What was not checked, in lines."""
        for each, origin in self.unchecked:
            yield f"{origin}: note: {key_of(each.type_url)} {each.name!r} is not checked by Envoy as a whole: {each.why}"

    def values(self) -> list[dict[str, object]]:
        """What was not checked, for programs."""
        return [
            {
                "path": origin.path,
                "line": origin.line,
                "type": key_of(each.type_url),
                "name": each.name,
                "message": each.why,
            }
            for each, origin in self.unchecked
        ]


def ask(inputs: Inputs, command: str) -> Answer:
    """Ask about every group.

    Raises:
        UnavailableError: There is no such Envoy, or it gives no verdict.
    """
    checker = EnvoyChecker(command)
    answer = Answer(checker.version(), [], [])
    for name in sorted(inputs.groups):
        snapshot = inputs.groups[name]
        resources = [resource for typeset in snapshot.types.values() for resource in typeset]
        refusals = list(_refusals(resources, snapshot, checker))
        answer.problems.extend(_problem(refusal, inputs.documents) for refusal in refusals)
        refused = {id(refusal.resource) for refusal in refusals}
        rest = [each for each in resources if id(each) not in refused]
        for each in inline(rest, _finder(snapshot)).unchecked:
            found = snapshot.typeset(each.type_url).get(each.name)
            answer.unchecked.append((each, found.origins[0] if found and found.origins else Origin("")))
    return answer


def _refusals(resources: Sequence[Resource], snapshot: Snapshot, checker: EnvoyChecker) -> Iterator[Refusal]:
    refused: set[tuple[str, str]] = set()
    find = _finder(snapshot)

    def put(some: Sequence[Resource]) -> str | None:
        static = inline(some, lambda url, name: None if (url, name) in refused else find(url, name))
        return checker.ask(static.body, _PATIENCE)

    for refusal in examine(resources, put):
        refused.add((refusal.resource.type_url, refusal.resource.name))
        yield refusal


def _finder(snapshot: Snapshot) -> Find:
    return lambda url, name: snapshot.typeset(url).get(name)


def _problem(refusal: Refusal, documents: Documents) -> Problem:
    resource = refusal.resource
    origin = resource.origins[0] if resource.origins else Origin("")
    document = documents.get(origin)
    message = f"{key_of(resource.type_url)} {resource.name!r} is refused by Envoy: {told(refusal.words, resource)}"
    return Problem(origin, REASON, message, field_in(document, meant(refusal.words)) if document else "")
