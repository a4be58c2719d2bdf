"""An assembly once, from scratch: what `validate` and `render` need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xds_server.ir.decision import GatewayReport
from xds_server.ir.declared import Unit
from xds_server.ir.problem import Problem
from xds_server.snapshot.assemble import Assembler, Batch
from xds_server.snapshot.closure import Prune
from xds_server.snapshot.compile import Decode
from xds_server.snapshot.derivation import Deriving
from xds_server.snapshot.snapshot import Snapshot


@dataclass(slots=True)
class Assembly:
    """The outcome of one assembly from scratch; `reports` are of the gateways."""

    groups: dict[str, Snapshot] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    reports: list[GatewayReport] = field(default_factory=list)


def assemble(
    units_by_source: Mapping[str, Iterable[Unit]], decode: Decode, prune: Prune, deriving: Deriving | None = None
) -> Assembly:
    """Assemble what these units declare; the first source keeps what two declare."""
    assembler = Assembler(decode, prune, deriving=deriving)
    batches = [
        Batch(rank, source, {unit.key: unit for unit in units})
        for rank, (source, units) in enumerate(units_by_source.items())
    ]
    snapshots = assembler.apply(batches, 0.0)
    problems = [problem for batch in batches for problem in assembler.problems(batch.rank, batch.source)]
    reports = [report for report in assembler.derived.outcome.reports.values() if report is not None]
    return Assembly({snapshot.group: snapshot for snapshot in snapshots}, problems, reports)
