"""Files as `serve` would load them: what of them would be served, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from k8s_source.kinds.decode import decode_manifest
from xds_server.app.model import GatewayModel
from xds_server.ir.declared import NativeDocument, Unit
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem, ProblemError
from xds_server.snapshot.scratch import assemble
from xds_server.snapshot.snapshot import LeftOut, Snapshot
from xds_server.sources.files import load
from xds_server.translate.expected import nearest
from xds_server.translate.locate import field_of, name_of
from xds_server.translate.native import decode, faults
from xds_server.translate.prune import prune_routes
from xds_server.wire.types import CLUSTER, ENDPOINT, ROUTE, SECRET, key_of

Documents = Mapping[Origin, NativeDocument]


@dataclass(frozen=True, slots=True)
class Inputs:
    """`files` counts what was read, `problems` are in the order of files and lines.

    `several` are the paths of the files that have more than one document, `documents` all that were read,
    `objects` counts those of manifests.
    """

    files: int
    groups: dict[str, Snapshot]
    problems: list[Problem]
    several: frozenset[str]
    documents: Documents = field(default_factory=dict)
    objects: int = 0


def read(paths: Sequence[Path]) -> Inputs:
    """Read paths and assemble what they declare."""
    units = {str(path): load(path, decode_object=decode_manifest) for path in paths}
    assembly = assemble(units, decode, prune_routes, GatewayModel())
    read_units = [unit for each in units.values() for unit in each]
    declared = (document for unit in read_units for document in unit.documents)
    documents = {document.origin: document for document in declared if isinstance(document, NativeDocument)}
    left_out = _left_out(assembly.groups, assembly.problems, documents)
    reported = (each for report in assembly.reports for each in (*report.invalid, *report.unresolved))
    told = dict.fromkeys([*_told(assembly.problems, documents), *reported, *left_out])
    problems = sorted(told, key=_order)
    objects = sum(len(unit.objects) for unit in read_units)
    return Inputs(len(read_units), assembly.groups, problems, frozenset(_several(read_units)), documents, objects)


def _left_out(groups: Mapping[str, Snapshot], problems: Iterable[Problem], documents: Documents) -> Iterator[Problem]:
    """What is not served, as problems; without what a document's own problem tells already."""
    told = {(problem.reason, problem.origin) for problem in problems}
    for snapshot in groups.values():
        for found in snapshot.left_out:
            if not any((found.reason, origin) in told for origin in found.origins):
                origin = found.origins[0] if found.origins else Origin("")
                path, hint = _first_missing(found, snapshot, documents)
                message = f"{key_of(found.type_url)} {found.name!r} {found.message}{hint}"
                yield Problem(origin, found.reason, message, path)


def _told(problems: Iterable[Problem], documents: Documents) -> Iterator[Problem]:
    """The problems with all that is wrong in a document, and with the field of a name that is taken."""
    for problem in problems:
        document = documents.get(problem.origin)
        if document is None:
            yield problem
        elif problem.reason == "DuplicateName":
            yield replace(problem, field=name_of(document))
        else:
            yield from faults(document) or [problem]


def _first_missing(found: LeftOut, snapshot: Snapshot, documents: Documents) -> tuple[str, str]:
    """Where the first name stands that does not resolve, and what was probably meant; "" where it can't be told."""
    document = next((documents[origin] for origin in found.origins if origin in documents), None)
    if document is None:
        return "", ""
    missing = list(_missing(document, snapshot))
    hint = nearest(missing[0][1], list(snapshot.typeset(missing[0][0]).resources)) if missing else ""
    return next((path for url, name in missing if (path := field_of(document, url, name))), ""), hint


def _missing(document: NativeDocument, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """(type URL, name) of what a document refers to and is not served."""
    try:
        refs = decode(document).refs
    except ProblemError:
        return
    needs = ((SECRET, refs.secrets), (ENDPOINT, refs.assignments), (CLUSTER, refs.clusters), (ROUTE, refs.routes))
    for url, names in needs:
        served = snapshot.typeset(url)
        yield from ((url, name) for name in sorted(names) if name not in served)


def _several(units: Iterable[Unit]) -> Iterator[str]:
    for unit in units:
        origins = [each.origin for each in (*unit.documents, *unit.objects, *unit.problems)]
        if any(origin.document > 1 for origin in origins):
            yield origins[0].path


def _order(problem: Problem) -> tuple[str, int, int, str]:
    return problem.origin.path, problem.origin.document, problem.origin.line, problem.field
