"""A whole trial, tiny: a server in a process of its own under the load generator in Python."""

from __future__ import annotations

import pytest

from bench import churn
from bench.contenders import NAIVE, PYTHON_GENERATOR, TIDEGATE, Contender
from bench.machine import Cores
from bench.shapes import Shape
from bench.trial import Bench, Figure

BENCH = Bench(PYTHON_GENERATOR, Cores(None, None), patience=0.0)


@pytest.mark.parametrize(("contender", "mode"), [(TIDEGATE, "delta"), (TIDEGATE, "sotw"), (NAIVE, "sotw")])
def test_every_stream_gets_everything_and_each_change(contender: Contender, mode: str) -> None:
    shape = Shape("tiny", "tiny", clusters=3, mode=mode, streams=4, changes=2, endpoints=2, routes=2, node_always=True)
    figures = BENCH.run(contender, shape).figures
    assert figures[Figure.LOST] == 0
    assert figures[Figure.CHANGE_CPU] > 0
    assert figures[Figure.CHANGE_LAST] > 0


def test_churn_reaches_every_stream() -> None:
    found = churn.measure(BENCH, churn.Load("delta", streams=4, rate=50, seconds=1.0, clusters=3, margin=2.0))
    assert found.changes >= 40
    assert 0 < found.snapshots <= found.changes + 1
    assert found.lost == 0
    assert found.delivery.max_ms > 0
