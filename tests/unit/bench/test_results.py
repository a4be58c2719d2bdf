"""From trials to verdicts and tables: medians, spread, the better peer, targets, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import results, table
from bench.page import fill
from bench.report import Change, Opened, Report, Usage, percentiles
from bench.results import Measured, Results
from bench.targets import judge
from bench.trial import Figure, Trial, figures_of


def measured(title: str, **cpu: list[float]) -> Measured:
    """Trials of one figure; `go_linear=[1, 2]` are two rounds of that server."""
    trials = [
        Trial("any", name.replace("_", "-"), calm=True, figures={Figure.CHANGE_CPU: value})
        for name, values in cpu.items()
        for value in values
    ]
    return Measured(title, "2026-01-01", trials)


def test_a_ratio_is_of_medians_and_to_the_better_peer() -> None:
    found = measured("load", tidegate=[10, 30, 20], go_snapshot=[100], go_linear=[40, 40, 90])
    assert found.ratio(Figure.CHANGE_CPU) == pytest.approx(0.5)
    assert found.ratio(Figure.OPEN) is None


@pytest.mark.parametrize(("ours", "met"), [(150.0, True), (151.0, False)])
def test_a_target_is_met_up_to_its_limit(ours: float, *, met: bool) -> None:
    shapes = {"100-delta": measured("load", tidegate=[ours], go_snapshot=[120], go_linear=[100])}
    (verdict,) = judge(shapes)
    assert verdict.met is met


def test_a_table_shows_median_spread_and_ratio() -> None:
    text = table.comparison({"100-delta": measured("load", tidegate=[10, 30, 20], go_linear=[40])})
    assert "20.0 (10.0-30.0)" in text
    assert text.splitlines()[-1].endswith("| 0.50  |")


def test_a_trial_on_a_busy_machine_is_marked() -> None:
    busy = Trial("any", "tidegate", calm=False, figures={Figure.CHANGE_CPU: 1.0})
    assert "1.00 *" in table.comparison({"100-delta": Measured("load", "2026-01-01", [busy])})


def test_figures_come_from_a_report() -> None:
    opened = Opened(streams=10, full=9, all_full_ms=500.0, usage=Usage(0.25, 60.0))
    changes = [Change(10, last, Usage(cpu, 61.0)) for last, cpu in ((3.0, 0.01), (9.0, 0.03), (4.0, 0.02))]
    lost = Change(4, 60_000.0, Usage(1.0, 61.0), timed_out=True)
    figures = figures_of(Report(opened, [*changes, lost], errors=0), idle_mib=50.0)
    assert figures == {
        Figure.OPEN: 0.5,
        Figure.OPEN_CPU: 0.25,
        Figure.MEMORY: 1024.0,
        Figure.LOST: 1.0,
        Figure.CHANGE_CPU: pytest.approx(20.0),
        Figure.CHANGE_LAST: 4.0,
    }


def test_percentiles_of_one_value() -> None:
    found = percentiles([7.0])
    assert (found.min, found.p50, found.p99, found.max) == (7.0, 7.0, 7.0, 7.0)


def test_results_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    stored = Results(machine="here", shapes={"100-delta": measured("load", tidegate=[1.0])})
    results.store(stored, path)
    assert results.load(path) == stored
    assert results.load(tmp_path / "none.json") == Results()


def test_newer_results_replace_only_what_was_measured_again() -> None:
    stored = Results(shapes={"a": measured("old"), "b": measured("old")})
    stored.update(Results(shapes={"b": measured("new")}))
    assert [each.title for each in stored.shapes.values()] == ["old", "new"]


def test_a_page_keeps_its_words_and_what_was_not_measured() -> None:
    text = "a\n<!-- bench:one -->\nold\n<!-- end -->\nb\n<!-- bench:two -->\nkept\n<!-- end -->\n"
    filled = fill(text, {"one": "new", "two": ""})
    assert filled == "a\n<!-- bench:one -->\nnew\n<!-- end -->\nb\n<!-- bench:two -->\nkept\n<!-- end -->\n"
