"""The shapes of load: how many clusters and streams, which variant, and what is measured of it."""

from __future__ import annotations

from dataclasses import dataclass

ENVOY_EXTENSIONS = 516
"""How many extensions Envoy 1.40 lists in its Node, which makes it 61 KB."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One load: `streams` nodes of one group start at once, then one endpoint changes `changes` times.

    `node_always` is Envoy's default: its whole Node goes with every request.
    """

    key: str
    title: str
    clusters: int
    mode: str
    streams: int
    changes: int
    endpoints: int = 10
    routes: int = 100
    node_always: bool = False


def _shape(key: str, clusters: int, streams: int, changes: int, *, node_always: bool = False) -> Shape:
    mode = "sotw" if key.endswith("sotw") else "delta"
    variant = "SotW" if mode == "sotw" else "delta"
    node = ", Node in every request" if node_always else ""
    title = f"{clusters:,} clusters, {variant}, {streams:,} streams{node}"
    return Shape(key, title, clusters, mode, streams, changes, node_always=node_always)


AGAINST_GO = (
    _shape("100-delta", 100, 1000, 5),
    _shape("100-sotw", 100, 1000, 5),
    _shape("1000-delta", 1000, 1000, 3),
    _shape("1000-sotw", 1000, 1000, 3),
    _shape("5000-streams-delta", 100, 5000, 2),
    _shape("5000-streams-sotw", 100, 5000, 2),
    _shape("node-delta", 100, 1000, 3, node_always=True),
    _shape("node-sotw", 100, 1000, 3, node_always=True),
)
"""What the targets speak of."""

GROWTH = tuple(
    _shape(f"growth-{clusters}-{mode}", clusters, 200, 2)
    for mode in ("delta", "sotw")
    for clusters in (100, 1000, 10_000)
)
"""Ever more clusters, for the plots."""

AGAINST_NAIVE = (
    _shape("naive-100-delta", 100, 100, 5),
    _shape("naive-100-sotw", 100, 100, 5),
    _shape("naive-1000-delta", 1000, 100, 3),
    _shape("naive-1000-sotw", 1000, 100, 3),
    _shape("naive-node-delta", 100, 100, 3, node_always=True),
)
"""Without Go: small enough for a generator in Python."""

ALL = (*AGAINST_GO, *GROWTH, *AGAINST_NAIVE)


def quick(shape: Shape) -> Shape:
    """A tenth of the streams, and two changes: to see whether it works, not for figures."""
    streams = max(shape.streams // 10, 10)
    title = shape.title.replace(f"{shape.streams:,} streams", f"{streams:,} streams")
    return Shape(
        shape.key, title, shape.clusters, shape.mode, streams, 2, shape.endpoints, shape.routes, shape.node_always
    )
