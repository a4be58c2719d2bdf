"""Fills `docs/performance.md` from the stored results: what stands between markers is written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bench import table
from bench.plots import draw
from bench.results import Measured, Results
from bench.shapes import AGAINST_GO, AGAINST_NAIVE, GROWTH, Shape
from bench.targets import judge
from bench.trial import Figure

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
"""The page of the measurements."""


def write(results: Results, page: Path = PAGE) -> None:
    """Fill the page, and draw its plots beside it."""
    page.write_text(fill(page.read_text(), sections(results)))
    draw(results, page.with_suffix(""))


def fill(text: str, found: Mapping[str, str]) -> str:
    """The text with each section, from `<!-- bench:NAME -->` to `<!-- end -->`, replaced by what was found for it."""

    def replace(match: re.Match[str]) -> str:
        content = found.get(match[1], "")
        return f"<!-- bench:{match[1]} -->\n{content}\n<!-- end -->" if content else match[0]

    return re.sub(r"<!-- bench:(\S+) -->\n.*?<!-- end -->", replace, text, flags=re.DOTALL)


def sections(results: Results) -> dict[str, str]:
    """All sections by name; empty where nothing was measured."""
    go, growth, naive = (_those_of(results, shapes) for shapes in (AGAINST_GO, GROWTH, AGAINST_NAIVE))
    return {
        "when": _when(results),
        "targets": table.verdicts(judge(go, results.kept, results.probe)) if go else "",
        "go": table.comparison(go) if go else "",
        "growth": table.comparison(growth) if growth else "",
        "naive": table.comparison(naive) if naive else "",
        "flat": table.costs(results.flat) if results.flat else "",
        "derived": table.derivations(results.derived) if results.derived else "",
        "lag": table.samplings(results.lag) if results.lag else "",
        "kubernetes": table.followers(results.kubernetes) if results.kubernetes else "",
        "kept": table.keeps(results.kept) if results.kept else "",
        "model": _model(results),
        "probe": table.holds(results.probe) if results.probe else "",
        "churn": table.churns(results.churn) if results.churn else "",
    }


def _those_of(results: Results, shapes: tuple[Shape, ...]) -> dict[str, Measured]:
    return {shape.key: results.shapes[shape.key] for shape in shapes if shape.key in results.shapes}


def _when(results: Results) -> str:
    days = sorted({*results.days.values(), *(each.day for each in results.shapes.values())})
    rounds = [len(each.trials) // len(each.contenders()) for each in results.shapes.values()]
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else "never"
    most = f", {min(rounds)} to {max(rounds)} rounds a load" if rounds else ""
    return f"Measured {span}{most}, on: {results.machine}."


def _model(results: Results) -> str:
    """Where the CPU time of a stream's part in a change goes, from what was measured in process and through gRPC."""
    lines = []
    for shape in AGAINST_GO[:4]:
        measured = results.shapes.get(shape.key)
        cpu = measured.summary("tidegate", Figure.CHANGE_CPU) if measured else None
        cost = next((c for c in results.flat if (c.mode, c.clusters) == (shape.mode, shape.clusters)), None)
        if cpu is None or cost is None:
            continue
        each = (cpu.median * 1000 - cost.derive_us) / shape.streams
        rest = each - cost.tell_us - cost.ack_us
        parts = [each, cost.tell_us, cost.ack_us, rest]
        lines.append([shape.title, f"{cost.derive_us:.0f}", *(f"{part:.0f}" for part in parts)])
    head = ["load", "once", "a stream", "telling the session", "taking its ACK", "the rest: transport, status, metrics"]
    return table.markdown(head, lines) if lines else ""
