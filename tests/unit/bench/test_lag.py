"""The bench of Kafka lag: calls to Kafka grow with groups, and not with routes."""

from __future__ import annotations

from bench import lag


def test_calls_grow_with_groups_and_not_with_routes() -> None:
    few, many, fewer_groups = lag.measure(((20, 10), (500, 10), (500, 3)), rounds=1)
    assert few.calls == many.calls == {"Metadata": 1, "Offset": 1, "OffsetFetch": 10}
    assert fewer_groups.calls == {"Metadata": 1, "Offset": 1, "OffsetFetch": 3}
    assert (many.routes, many.queries) == (500, 10)
