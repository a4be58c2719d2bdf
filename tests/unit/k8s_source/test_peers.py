"""Where pods are, by the EndpointSlices of their Service."""

from __future__ import annotations

import json
from typing import Any

import pytest

from k8s_source.peers import parse, pods


def body(*endpoints: tuple[str, str], ports: list[dict[str, Any]] | None = None, **more: Any) -> bytes:
    """A slice with endpoints of these pods (or of none) at these addresses."""
    made = [
        {"addresses": [address], **({"targetRef": {"kind": "Pod", "name": pod}} if pod else {})}
        for pod, address in endpoints
    ]
    return json.dumps(
        {"endpoints": made, "ports": [{"name": "admin", "port": 19000}] if ports is None else ports, **more}
    ).encode()


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([body(("a", "10.0.0.1"), ("b", "10.0.0.2"))], {"a": ("10.0.0.1", 19000), "b": ("10.0.0.2", 19000)}),
        ([body(("a", "fd00::1")), body(("a", "10.0.0.1"))], {"a": ("10.0.0.1", 19000)}),
        ([body(("a", "fd00::1"))], {"a": ("fd00::1", 19000)}),
        ([body(("", "10.0.0.1"))], {"10.0.0.1": ("10.0.0.1", 19000)}),
        ([body(("a", "10.0.0.1"), ports=[{"port": 1}])], {"a": ("10.0.0.1", 1)}),
        (
            [body(("a", "10.0.0.1"), ports=[{"name": "x", "port": 1}, {"name": "admin", "port": 2}])],
            {"a": ("10.0.0.1", 2)},
        ),
        ([body(("a", "10.0.0.1"), ports=[{"name": "x", "port": 1}, {"name": "y", "port": 2}])], {}),
        ([body(("a", "10.0.0.1"), ports=[])], {}),
        ([json.dumps({"endpoints": None, "ports": None}).encode()], {}),
        ([b"{", json.dumps({"endpoints": 3}).encode()], {}),
    ],
)
def test_pods(bodies: list[bytes], expected: dict[str, tuple[str, int]]) -> None:
    assert {name: place[:2] for name, place in pods(parse(each) for each in bodies).items()} == expected


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [
        ({}, True),
        ({"ready": None}, True),
        ({"ready": True}, True),
        ({"ready": False}, False),
        ({"ready": True, "serving": False}, False),
        ({"ready": False, "serving": True, "terminating": True}, True),
    ],
)
def test_unknown_counts_as_ready(conditions: dict[str, Any], is_ready: bool) -> None:  # noqa: FBT001
    endpoint = {"addresses": ["10.0.0.1"], "conditions": conditions}
    found = pods([parse(json.dumps({"endpoints": [endpoint], "ports": [{"port": 1}]}).encode())])
    assert found["10.0.0.1"].is_ready is is_ready
