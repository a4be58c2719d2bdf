"""When a watched value is too much: threshold, samples in a row, recover threshold and dwell, as a pure state machine.

The rules are those of docs/design/010-what-observers-know.md. Times are POSIX seconds, so that a dwell outlives a restart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xds_server.ir.facts import Observation, Rule, Verdict


class State(NamedTuple):
    """What is remembered of one route between samples.

    `since` is when the verdict last changed, `was_over` whether it ever was over, `row` how many samples in a row were
    over the threshold, `sampled` which sample was the last. `newest` is the value now, None where it is not known.
    """

    verdict: Verdict = Verdict.NORMAL
    since: float = 0.0
    was_over: bool = False
    row: int = 0
    sampled: float = 0.0
    newest: float | None = None


class Step(NamedTuple):
    """The next state, and when to look again without a new sample (None: a sample comes first)."""

    state: State
    again: float | None


def observe(state: State, rule: Rule, observation: Observation, now: float) -> Step:
    """Take an observation in. One that is unknown changes no verdict; one with the old `sampled` is no new sample."""
    value = value_of(observation, rule)
    if value is None:
        return Step(state if state.newest is None else state._replace(newest=None), None)
    verdict, since, was_over, row, sampled, _ = state
    if observation.sampled != sampled:
        row = row + 1 if value > rule.threshold else 0
    return look(State(verdict, since, was_over, row, observation.sampled, value), rule, now)


def value_of(observation: Observation, rule: Rule) -> float | None:
    """The value as the rule counts it; None where it is unknown, or no number."""
    value = observation.counted(rule.no_commit)
    return None if value is None or math.isnan(value) else value


def look(state: State, rule: Rule, now: float) -> Step:
    """Make the change that is due, if any: when a sample came, and again when a dwell is over."""
    due = _due(state, rule)
    if due is state.verdict:
        return Step(state, None)
    if due is Verdict.OVER and not state.was_over:
        return Step(_changed(state, due, now), None)
    # A clock that was set back must not make the dwell longer than it is.
    end = min(state.since, now) + rule.min_dwell
    if now >= end:
        return Step(_changed(state, due, now), None)
    return Step(state._replace(since=min(state.since, now)), end)


def forget_samples(state: State) -> State:
    """The same verdict, for another rule: what was sampled says nothing under it before the next sample."""
    return state._replace(row=0, newest=None)


def _due(state: State, rule: Rule) -> Verdict:
    """What the samples say, whatever the dwell."""
    if state.newest is None:
        return state.verdict
    if state.verdict is Verdict.OVER:
        return Verdict.NORMAL if state.newest <= rule.recover else Verdict.OVER
    return Verdict.OVER if state.row >= rule.enter_samples else Verdict.NORMAL


def _changed(state: State, verdict: Verdict, now: float) -> State:
    return state._replace(verdict=verdict, since=now, was_over=state.was_over or verdict is Verdict.OVER, row=0)
