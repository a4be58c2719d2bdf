"""The object of an Event, within the API server's limits."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, strategies as st

from k8s_source.events.event import Event, Reference, Reporter, Type, Write, body_of, name_of, patch_of, shortened

GATEWAY = Reference("gateway.tidegate.dev/v1alpha1", "DynamicGateway", "shop", "edge", "u1", "17")
DEGRADED = Event(GATEWAY, Type.WARNING, "OverThreshold", "Degrade", "route / leads to slow-shop: lag 1200")
US = Reporter("tidegate.dev/gateway-controller", "pod-0")


def test_the_whole_object() -> None:
    assert msgspec.json.decode(body_of(Write(DEGRADED, "shop.17a", 1.5), US)) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "shop.17a", "namespace": "edge"},
        "eventTime": "1970-01-01T00:00:01.500000Z",
        "reportingController": "tidegate.dev/gateway-controller",
        "reportingInstance": "pod-0",
        "action": "Degrade",
        "reason": "OverThreshold",
        "regarding": {
            "apiVersion": "gateway.tidegate.dev/v1alpha1",
            "kind": "DynamicGateway",
            "name": "shop",
            "namespace": "edge",
            "uid": "u1",
            "resourceVersion": "17",
        },
        "note": "route / leads to slow-shop: lag 1200",
        "type": "Warning",
    }


def test_a_series_and_its_patch() -> None:
    write = Write(DEGRADED, "shop.17a", 1.5, 3, 60.25)
    series = {"count": 3, "lastObservedTime": "1970-01-01T00:01:00.250000Z"}
    assert msgspec.json.decode(body_of(write, US))["series"] == series
    assert msgspec.json.decode(patch_of(write)) == {"series": series}


def test_what_is_related_and_what_has_no_namespace() -> None:
    cluster = Event(Reference("v1", "Node", "n1"), Type.NORMAL, "R", "A", "", Reference("v1", "Pod", "p", "ns"))
    body = msgspec.json.decode(body_of(Write(cluster, "n1.1", 0), US))
    assert body["metadata"]["namespace"] == "default"
    assert body["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    assert body["related"] == {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "ns"}


@given(st.text(max_size=3000))
def test_notes_fit_by_bytes_and_stay_text(note: str) -> None:
    note = note.encode(errors="ignore").decode()
    found = shortened(note)
    assert len(found.encode()) <= 1024
    if found != note:
        assert len(note.encode()) > 1024
        assert found.endswith("…")
        assert note.startswith(found[:-1])
        assert len(found.encode()) > 1015


def test_names_are_valid_however_long_the_objects_is() -> None:
    assert name_of(GATEWAY, 0x17A) == "shop.17a"
    long = Reference("v1", "Pod", "x" * 250, "ns")
    assert len(name_of(long, 1 << 60)) == 36
    assert name_of(long, 1 << 60) != name_of(long, 1 << 60)


@pytest.mark.parametrize(
    "other", [{"note": "other"}, {"regarding": msgspec.structs.replace(GATEWAY, resource_version="18")}]
)
def test_what_differs_within_a_series(other: dict[str, object]) -> None:
    assert replace(DEGRADED, **other).key == DEGRADED.key  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        {"type": Type.NORMAL},
        {"reason": "Other"},
        {"action": "Other"},
        {"regarding": msgspec.structs.replace(GATEWAY, uid="u2")},
        {"related": GATEWAY},
    ],
)
def test_what_makes_another_event(other: dict[str, object]) -> None:
    assert replace(DEGRADED, **other).key != DEGRADED.key  # type: ignore[arg-type]
