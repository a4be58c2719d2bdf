"""The plots of the page, as SVG: the cost of a change over the clusters, and memory under churn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.results import Results
from bench.shapes import GROWTH
from bench.trial import Figure

Line = Sequence[tuple[float, float]]

_TITLES = {"tidegate": "Tidegate", "go-snapshot": "Go snapshot", "go-linear": "Go linear"}
_COLORS = ("#0072b2", "#d55e00", "#e69f00")


def draw(results: Results, folder: Path) -> list[Path]:
    """Write all plots that there are results for; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for mode, variant in (("delta", "delta"), ("sotw", "SotW")):
        lines = _growth(results, mode)
        if lines:
            title = f"CPU of one endpoint's change, 200 streams, {variant}"
            written.append(_save(_log_plot(lines, title), folder / f"change-{mode}.svg"))
    memory = {f"{each.mode}": list(enumerate(each.memory_mib)) for each in results.churn}
    if memory:
        written.append(_save(_time_plot(memory, "Memory under churn"), folder / "churn-memory.svg"))
    return written


def _growth(results: Results, mode: str) -> Mapping[str, Line]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for shape in GROWTH:
        measured = results.shapes.get(shape.key)
        if measured is None or shape.mode != mode:
            continue
        for key, title in _TITLES.items():
            summary = measured.summary(key, Figure.CHANGE_CPU)
            if summary is not None:
                lines.setdefault(title, []).append((shape.clusters, summary.median))
    return lines


def _log_plot(lines: Mapping[str, Line], title: str) -> Any:
    with _library().GraphLogXY() as graph:
        _draw_lines(lines)
    return graph.axesnames("clusters", "ms of the server's CPU").title(title)


def _time_plot(lines: Mapping[str, Line], title: str) -> Any:
    with _library().Graph() as graph:
        _draw_lines(lines, marker=False)
    most = max(value for line in lines.values() for _, value in line)
    return graph.axesnames("seconds", "MiB resident").title(title).yrange(0, most * 1.1)


def _draw_lines(lines: Mapping[str, Line], *, marker: bool = True) -> None:
    for (name, line), color in zip(lines.items(), _COLORS, strict=False):
        drawn = _library().PolyLine(*zip(*line, strict=True)).name(name).color(color)
        if marker:
            drawn.marker("o")


def _library() -> Any:
    """Ziaplot: pure Python, static SVG, and needed only by who writes the page."""
    return importlib.import_module("ziaplot")


def _save(graph: Any, path: Path) -> Path:
    path.write_bytes(graph.imagebytes() + b"\n")
    return path
