"""The guard of memory: what is kept of a stream grows neither with the configuration nor with Envoy's node."""

from __future__ import annotations

import pytest

from bench import kept


def test_a_stream_keeps_nothing_of_the_configuration_and_nothing_of_the_node() -> None:
    found = kept.measure(sizes=(20, 200), streams=20)
    for small, large in (found[:2], found[2:]):
        assert small.plain == pytest.approx(large.plain, abs=1024)
        assert large.node_always == pytest.approx(large.plain, abs=1024)
