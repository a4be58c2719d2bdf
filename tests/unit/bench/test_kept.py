"""The guard of memory: what is kept of a stream grows neither with the configuration nor with Envoy's node."""

from __future__ import annotations

import pytest

from bench import kept

MOST = 6_500
"""Bytes that Tidegate itself keeps of a stream; it is 5,500."""


def test_a_stream_keeps_nothing_of_the_configuration_and_nothing_of_the_node() -> None:
    found = kept.measure(sizes=(20, 200), streams=20)
    assert max(each.plain for each in found) < MOST
    for small, large in (found[:2], found[2:]):
        assert small.plain == pytest.approx(large.plain, abs=1024)
        assert large.node_always == pytest.approx(large.plain, abs=1024)
