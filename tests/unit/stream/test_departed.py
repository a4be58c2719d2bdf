"""What is remembered of a node whose stream has ended, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xds_server.stream import context
from xds_server.stream.context import Departed
from xds_server.stream.handover import NO_LEGACY, Legacy
from xds_server.wire.node import NodeInfo

NODE = NodeInfo("n", "", "edge", "")
LEFT = Legacy({}, {})


def test_what_is_remembered_of_a_node_belongs_to_its_identity_and_group() -> None:
    """Anybody may say that it is any node: that neither reads nor wipes another's memory."""
    departed = Departed()
    departed.remember("one", NODE, LEFT)
    departed.remember("two", NODE, Legacy({}, {}))
    assert departed.recall("one", NODE) is LEFT
    assert departed.recall("three", NODE) is NO_LEGACY
    assert departed.recall("one", replace(NODE, group="other")) is NO_LEGACY


def test_what_is_remembered_of_nodes_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_DEPARTED_KEPT", 10)
    departed = Departed()
    for number in range(20):
        departed.remember("one", replace(NODE, id=str(number)), LEFT)
    assert [departed.recall("one", replace(NODE, id=str(number))) is LEFT for number in (9, 10, 19)] == [
        False,
        True,
        True,
    ]
