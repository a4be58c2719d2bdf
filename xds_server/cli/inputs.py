"""Files as `serve` would load them: what of them would be served, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.snapshot.assemble import Assembly, assemble
from xds_server.snapshot.snapshot import LeftOut, Snapshot
from xds_server.sources.files import load
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.wire.types import key_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """`files` counts what was read, `problems` are in the order of files and lines."""

    files: int
    groups: dict[str, Snapshot]
    problems: list[Problem]


def read(paths: Sequence[Path]) -> Inputs:
    """Read paths and assemble what they declare."""
    units = {str(path): load(path) for path in paths}
    assembly = assemble(units, decode, prune_routes)
    problems = sorted([*assembly.problems, *_left_out(assembly)], key=_order)
    return Inputs(sum(map(len, units.values())), assembly.groups, problems)


def _left_out(assembly: Assembly) -> list[Problem]:
    """What is not served, as problems; without what a document's own problem tells already."""
    told = {(problem.reason, problem.origin) for problem in assembly.problems}
    found = [each for snapshot in assembly.groups.values() for each in snapshot.left_out]
    return [_problem(each) for each in found if not any((each.reason, origin) in told for origin in each.origins)]


def _problem(found: LeftOut) -> Problem:
    origin = found.origins[0] if found.origins else Origin("")
    return Problem(origin, found.reason, f"{key_of(found.type_url)} {found.name!r} {found.message}")


def _order(problem: Problem) -> tuple[str, int, int, str]:
    return problem.origin.path, problem.origin.document, problem.origin.line, problem.field
