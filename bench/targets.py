"""The targets of the benchmarks against the Go peer, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bench.kept import Kept
from bench.probe import Hold
from bench.results import Measured
from bench.trial import Figure

_NODE_KEPT = 1024
_HELD_MS = 50.0

Shapes = Mapping[str, Measured]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target: what it asks for, what was measured, and whether that will do."""

    target: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure may be at most `most` times that of the better Go cache."""

    shape: str
    figure: Figure
    most: float


_LIMITS = tuple(
    Limit(f"{clusters}-{mode}", figure, most)
    for clusters, limits in (
        ("100", {Figure.CHANGE_CPU: 1.5, Figure.CHANGE_LAST: 1.5, Figure.MEMORY: 1 / 2}),
        ("1000", {Figure.CHANGE_CPU: 1 / 4, Figure.CHANGE_LAST: 1 / 4, Figure.MEMORY: 1 / 8, Figure.OPEN: 1.0}),
    )
    for mode in ("delta", "sotw")
    for figure, most in limits.items()
)


def judge(shapes: Shapes, kept: Iterable[Kept] = (), holds: Iterable[Hold] = ()) -> list[Verdict]:
    """The verdicts on all targets whose shapes were measured with the Go peer, on what is kept, and on the holds."""
    return [*_judge_limits(shapes), *_judge_lost(shapes), *_judge_node(kept), *_judge_holds(holds)]


def _judge_limits(shapes: Shapes) -> Iterator[Verdict]:
    for limit in _LIMITS:
        measured = shapes.get(limit.shape)
        ratio = measured.ratio(limit.figure) if measured else None
        if ratio is not None:
            target = f"{limit.shape}: {limit.figure}: at most {limit.most:g} of the better Go cache"
            yield Verdict(target, f"{ratio:.2f}", ratio <= limit.most)


def _judge_lost(shapes: Shapes) -> Iterator[Verdict]:
    for key, measured in shapes.items():
        ours = measured.summary("tidegate", Figure.LOST)
        if ours and key.startswith("5000-streams"):
            yield Verdict(f"{key}: no stream lost", f"{ours.high:.0f} at most in a round", ours.high == 0)


def _judge_node(kept: Iterable[Kept]) -> Iterator[Verdict]:
    """What is kept more of a stream when Envoy's whole Node comes with every request; gRPC's buffers left out."""
    more = max((each.node_always - each.plain for each in kept), default=None)
    if more is not None:
        target = f"Envoy's Node in every request: at most {_NODE_KEPT:,} bytes kept of it a stream"
        yield Verdict(target, f"{more:.0f} bytes", more <= _NODE_KEPT)


def _judge_holds(holds: Iterable[Hold]) -> Iterator[Verdict]:
    for hold in holds:
        target = f"publish of {hold.publish} ({hold.mode}): the event loop is held for at most {_HELD_MS:.0f} ms"
        yield Verdict(target, f"{hold.held_ms:.1f} ms", hold.held_ms <= _HELD_MS)
