"""Rounds: every shape against every server, again and again in alternating order, so that drift hits all alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from bench.contenders import Contender
from bench.results import Measured
from bench.shapes import Shape
from bench.trial import Bench, Figure, Trial


def run(bench: Bench, shapes: Sequence[Shape], contenders: Sequence[Contender], rounds: int) -> dict[str, Measured]:
    """Run so many rounds; the trials by shape.

    Raises:
        StartError: a server does not come up.
        LoadError: the generator fails.
    """
    day = time.strftime("%Y-%m-%d")
    found = {shape.key: Measured(shape.title, day, []) for shape in shapes}
    for number in range(rounds):
        for shape in shapes:
            order = contenders if number % 2 == 0 else contenders[::-1]
            for contender in order:
                trial = bench.run(contender, shape)
                found[shape.key].trials.append(trial)
                _tell(number, rounds, contender, shape, trial)
    return found


def _tell(number: int, rounds: int, contender: Contender, shape: Shape, trial: Trial) -> None:
    """Progress goes to the error output, so that the tables alone are what is printed."""
    change = trial.figures.get(Figure.CHANGE_CPU)
    cpu = f", a change {change:.1f} ms of CPU" if change is not None else ""
    calm = "" if trial.calm else ", machine not calm"
    text = f"round {number + 1}/{rounds}: {shape.title}: {contender.title}{cpu}{calm}"
    print(text, file=sys.stderr, flush=True)
