"""The targets of the benchmarks against the Go peer, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.results import Measured
from bench.trial import Figure

_NODE_KEPT_KIB = 1.0

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


def judge(shapes: Shapes) -> list[Verdict]:
    """The verdicts on all targets whose shapes were measured with the Go peer."""
    return [*_judge_limits(shapes), *_judge_lost(shapes), *_judge_node(shapes)]


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


def _judge_node(shapes: Shapes) -> Iterator[Verdict]:
    """What a stream costs more in memory when Envoy's whole Node comes with every request."""
    for mode in ("delta", "sotw"):
        plain, node = shapes.get(f"100-{mode}"), shapes.get(f"node-{mode}")
        without = plain.summary("tidegate", Figure.MEMORY) if plain else None
        with_node = node.summary("tidegate", Figure.MEMORY) if node else None
        if without and with_node:
            more = with_node.median - without.median
            target = (
                f"node-{mode}: at most {_NODE_KEPT_KIB:g} KiB more memory a stream for Envoy's Node in each request"
            )
            yield Verdict(target, f"{more:.1f} KiB", more <= _NODE_KEPT_KIB)
