"""Doubts on top of doubts: what a client may have is a set of contents, however often it goes and comes back."""

from __future__ import annotations

from hypothesis import given, strategies as st

from xds_server.stream.doubt import Doubtful
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER

CONTENTS: list[Resource | None] = [None, *(Resource("a", CLUSTER, bytes([number])) for number in range(20))]


def _doubt(numbers: list[int]) -> Doubtful:
    doubt = Doubtful("a", CLUSTER, CONTENTS[numbers[0]], CONTENTS[numbers[1]], is_sure=True)
    for number in numbers[2:]:
        doubt = Doubtful("a", CLUSTER, doubt, CONTENTS[number], is_sure=True)
    return doubt


def test_the_same_contents_again_add_nothing() -> None:
    once, often = _doubt([1, 2]), _doubt([1, 2] * 100)
    assert once.contents == often.contents
    assert len(often.version) < 200


@given(st.lists(st.integers(0, 20), min_size=2, max_size=100))
def test_a_version_does_not_grow(numbers: list[int]) -> None:
    doubt = _doubt(numbers)
    assert len(doubt.contents) <= 9
    assert len(doubt.version) < 9 * 33 + 40


@given(st.lists(st.integers(0, 20), min_size=2, max_size=30), st.lists(st.integers(0, 20), min_size=2, max_size=30))
def test_other_contents_are_another_version(one: list[int], other: list[int]) -> None:
    """Contents that are folded into a hash are told apart, too."""
    if set(one) != set(other):
        assert _doubt(one).version != _doubt(other).version
