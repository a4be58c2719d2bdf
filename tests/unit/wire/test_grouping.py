"""Group rules: what fits, in which order they count, and how metadata is compared."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.core.v3 import base_pb2
from google.protobuf.json_format import ParseDict
from hypothesis import given, strategies as st

from xds_server.wire.grouping import Grouping, Rule

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text("abc", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc.", max_size=4), inner, max_size=3),
    max_leaves=8,
)


def node(**fields: Any) -> base_pb2.Node:
    """A Node, given as proto3 JSON."""
    return ParseDict({"id": "edge-1", **fields}, base_pb2.Node())


def fits(rule: dict[str, Any], **fields: Any) -> bool:
    """Whether a node is given the group of a rule."""
    return Grouping([Rule("chosen", **rule)]).group_of(node(**fields)) == "chosen"


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ({}, {}),
        ({"id": "edge-*"}, {}),
        ({"id": "edge-?"}, {}),
        ({"id": "edge-[12]"}, {}),
        ({"cluster": "front*"}, {"cluster": "frontend"}),
        ({"cluster": ""}, {}),
        ({"region": "eu", "zone": "a"}, {"locality": {"region": "eu", "zone": "a", "subZone": "x"}}),
        ({"sub_zone": "x"}, {"locality": {"subZone": "x"}}),
        ({"metadata": {"team": "a"}}, {"metadata": {"team": "a", "more": 1}}),
        ({"metadata": {"pod.team": "a"}}, {"metadata": {"pod": {"team": "a"}}}),
        ({"metadata": {"pod.team": "a"}}, {"metadata": {"pod.team": "a"}}),
        ({"metadata": {"example.org/pod.team": "a"}}, {"metadata": {"example.org/pod": {"team": "a"}}}),
        ({"metadata": {"pod": {"labels": {"team": "a"}}}}, {"metadata": {"pod": {"labels": {"team": "a", "b": 1}}}}),
        ({"metadata": {"count": 1, "on": True, "none": None}}, {"metadata": {"count": 1, "on": True, "none": None}}),
        ({"metadata": {"list": ["a", {"b": 1}]}}, {"metadata": {"list": ["a", {"b": 1}]}}),
    ],
)
def test_what_fits(rule: dict[str, Any], fields: dict[str, Any]) -> None:
    assert fits(rule, **fields)


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ({"id": "edge"}, {}),
        ({"id": "EDGE-*"}, {}),
        ({"id": "edge-?"}, {"id": "edge-10"}),
        ({"id": "edge-*"}, {"id": "x\nedge-1"}),
        ({"cluster": "front"}, {"cluster": "frontend"}),
        ({"cluster": "?*"}, {}),
        ({"region": "eu", "zone": "b"}, {"locality": {"region": "eu", "zone": "a"}}),
        ({"region": "eu"}, {}),
        ({"id": "edge-*", "cluster": "other"}, {"cluster": "edge"}),
        ({"metadata": {"team": "a"}}, {}),
        ({"metadata": {"team": "a"}}, {"metadata": {"team": "A"}}),
        ({"metadata": {"team": "a", "tier": "b"}}, {"metadata": {"team": "a"}}),
        ({"metadata": {"count": 1}}, {"metadata": {"count": "1"}}),
        ({"metadata": {"count": 1}}, {"metadata": {"count": True}}),
        ({"metadata": {"on": True}}, {"metadata": {"on": 1}}),
        ({"metadata": {"none": None}}, {}),
        ({"metadata": {"list": ["a"]}}, {"metadata": {"list": ["a", "b"]}}),
        ({"metadata": {"pod.team": "a"}}, {"metadata": {"pod": "team"}}),
    ],
)
def test_what_does_not_fit(rule: dict[str, Any], fields: dict[str, Any]) -> None:
    assert not fits(rule, **fields)


def test_the_first_rule_that_fits_counts_and_before_what_the_node_says() -> None:
    rules = Grouping([Rule("one", id="edge-1"), Rule("edge", id="edge-*"), Rule("all", cluster="c")])
    says: dict[str, Any] = {"cluster": "c", "metadata": {"tidegate.dev/group": "mine"}}
    assert rules.group_of(node(**says)) == "one"
    assert rules.group_of(node(id="edge-2", **says)) == "edge"
    assert rules.group_of(node(id="other", **says)) == "all"
    assert rules.group_of(node(id="other", metadata={"tidegate.dev/group": "mine"}, cluster="d")) == "mine"
    assert rules.group_of(node(id="other", cluster="d")) == "d"
    assert rules.group_of(node(id="other")) == "default"


@given(st.dictionaries(st.text("abc.", min_size=1, max_size=4), JSON, max_size=4))
def test_a_node_fits_what_it_says_itself(metadata: dict[str, Any]) -> None:
    assert fits({"metadata": metadata}, metadata=metadata)


@given(JSON, JSON)
def test_a_value_fits_what_is_equal_or_a_mapping_that_holds_it(want: Any, have: Any) -> None:
    assert fits({"metadata": {"key": want}}, metadata={"key": have}) == _holds(want, have)


def _holds(want: Any, have: Any) -> bool:
    """The rule, said once more for plain values."""
    if isinstance(want, dict) and isinstance(have, dict):
        keys = [(key, [have[key]] if key in have else [], _paths(key, have)) for key in want]
        return all(any(_holds(want[key], each) for each in named + led) for key, named, led in keys)
    if isinstance(want, list) and isinstance(have, list):
        return len(want) == len(have) and all(_holds(a, b) for a, b in zip(want, have, strict=True))
    return type(want) is type(have) and want == have


def _paths(key: str, have: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for end in (index for index, letter in enumerate(key) if letter == "."):
        inner, rest = have.get(key[:end]), key[end + 1 :]
        if isinstance(inner, dict):
            found += [inner[rest]] if rest in inner else []
            found += _paths(rest, inner)
    return found
