"""What becomes of manifests that are right: defaults, identity, and what is not looked at."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.discovery import EndpointSlice
from k8s_source.kinds.fields import seconds
from k8s_source.kinds.gateway_tidegate import DynamicGateway, PolicySpec
from tests.unit.k8s_source.manifests import (
    FILE,
    Body,
    decoded,
    endpoint_slice,
    gateway,
    pair,
    refused,
    route,
    service,
    tls_secret,
    watching,
)
from xds_server.ir.objects import Object, ObjectKey


def test_identity() -> None:
    found = decode_manifest(gateway(metadata={"namespace": "eu", "generation": 3}), FILE, "edge")
    assert isinstance(found, Object)
    assert found.key == ObjectKey("gateway.tidegate.dev", "DynamicGateway", "eu", "shop")
    assert found.folder_group == "edge"
    assert (found.origin.path, found.origin.kind, found.origin.generation) == ("in.yaml", "DynamicGateway", 3)
    assert decoded(service()).key == ObjectKey("", "Service", "default", "cart")


def test_defaults_of_a_route() -> None:
    value = decoded(gateway(watching())).value
    assert isinstance(value, DynamicGateway)
    found = value.spec.routes[0]
    assert (found.kafka_cluster, found.no_commit, found.enter_samples, found.min_dwell) == (
        "default",
        "earliest",
        1,
        "30s",
    )
    assert (found.path_type, found.hosts, found.timeout, found.retries, found.port) == ("Prefix", (), None, 0, None)
    assert value.spec.policy == PolicySpec(full_resync_interval="5m", fail_open=False, require_envoy_ack=True)
    assert value.spec.listeners == ()


def test_null_is_absent_and_a_status_is_not_read() -> None:
    body = gateway(watching(timeout=None, kafkaTopics=None, kafkaCluster=None), policy=None, metadata={"labels": None})
    assert decoded({**body, "status": {"phase": 5}}) == decoded(gateway(watching()))


def test_kinds_of_others_may_have_further_fields() -> None:
    body = endpoint_slice("a", "cart", "10.0.0.1")
    more = deepcopy(body)
    more["metadata"]["uid"] = more["managedBy"] = "x"  # type: ignore[index]
    more["endpoints"][0]["nodeName"] = "n1"  # type: ignore[index]
    assert decoded(more) == decoded(body)


def test_json_bytes_decode_to_the_same() -> None:
    body = endpoint_slice("a", "cart", "10.0.0.1")
    assert msgspec.json.decode(msgspec.json.encode(body), type=EndpointSlice) == decoded(body).value
    nulls = msgspec.json.encode({**body, "endpoints": None, "ports": None})
    assert msgspec.json.decode(nulls, type=EndpointSlice).endpoints is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("30s", 30), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("2h1m", 7260), ("7us", 7e-6)],
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)
    decoded(gateway(route(timeout=text)))


@pytest.mark.parametrize("text", ["", "30", "s", "1d", "1s ", "-1s", "1e3s", "1m 30s", "٣s"])
def test_what_is_no_duration(text: str) -> None:
    assert refused(gateway(route(timeout=text)))[0].field == "spec.routes[0].timeout"


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.builds(dict),
    st.builds(lambda: [None, 5]),
)
WHOLE: list[Body] = [
    gateway(watching(hosts=["a"], kafkaTopics=["b"]), listeners=[{"port": 80}], policy={"failOpen": True}),
    service("cart", {"port": 80, "name": "http"}),
    endpoint_slice("a", "cart", "10.0.0.1"),
    tls_secret(*pair()),
]


def places(value: object) -> list[tuple[Any, Any]]:
    """Every (container, key) in a manifest."""
    here: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            here += [(value, key), *places(value[key])]
    return here


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_junk_anywhere_is_refused_with_reasons_or_taken(data: st.DataObject) -> None:
    body = deepcopy(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(body)))
        container[key] = data.draw(JUNK)
    found = decode_manifest(body, FILE, "default")
    assert isinstance(found, Object) or (found and all(each.message and each.reason for each in found))
