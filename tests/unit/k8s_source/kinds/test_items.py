"""Objects as an API server has them: decoded from their bytes to what the same manifest in a file becomes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.items import GROUP, Declared, ItemDecoder
from k8s_source.kinds.meta import LAST_APPLIED
from tests.unit.k8s_source.manifests import Body, endpoint_slice, gateway, pair, route, service, tls_secret, watching
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin

BODIES = [
    service(),
    endpoint_slice("cart-1", "cart", "10.0.0.1", "10.0.0.2"),
    tls_secret(*pair()),
    gateway(watching(), metadata={"annotations": {"tidegate.dev/group": "edge"}}),
]


def item(body: Body, **more: object) -> Declared:
    """What becomes of a body in an API server's bytes, with further fields."""
    decoder = ItemDecoder("cluster", str(body["apiVersion"]), str(body["kind"]))
    return decoder(msgspec.json.encode({**body, **more}))


def good(declared: Declared) -> Object:
    """An object that is right."""
    assert isinstance(declared, Object), declared
    return declared


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body["kind"]))
def test_an_item_is_the_object_of_the_same_manifest(body: Body) -> None:
    assert item(body) == decode_manifest(body, Origin("cluster"), GROUP)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body["kind"]))
def test_what_the_api_server_adds_changes_nothing(body: Body) -> None:
    stored: Any = deepcopy(body)
    stored["metadata"] |= {
        "uid": "u",
        "resourceVersion": "7",
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        "finalizers": ["a/b"],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    assert item(stored, status={"phase": 5, "conditions": [None]}) == item(body)


def test_where_it_stands_is_told_by_its_identity() -> None:
    origin = good(item(gateway(route(), metadata={"namespace": "eu", "generation": 4}))).origin
    assert origin == Origin(
        "cluster",
        api_version="gateway.tidegate.dev/v1alpha1",
        kind="DynamicGateway",
        namespace="eu",
        name="shop",
        generation=4,
    )


def test_nulls_count_as_absent_also_where_the_type_has_none() -> None:
    body = gateway(watching(timeout=None, kafkaTopics=None), listeners=None, policy=None)
    assert item(body) == item(gateway(watching()))


def test_own_kinds_stay_strict_and_all_faults_are_told() -> None:
    problems = item(gateway(route(backend="b", retries=-1), policy={"failOpen": "no"}))
    assert isinstance(problems, tuple)
    assert {each.field for each in problems} >= {"spec.routes[0].backend", "spec.policy.failOpen"}
    assert {str(each.origin) for each in problems} == {"DynamicGateway/default/shop"}


def test_what_kubectl_keeps_is_forgotten() -> None:
    body = gateway(route(), metadata={"annotations": {LAST_APPLIED: "{}", "a": "b"}})
    value: Any = good(item(body)).value
    assert value.metadata.annotations == {"a": "b"}


def test_a_wrong_secret_shows_nothing_of_its_values() -> None:
    body = {**tls_secret(*pair()), "stringData": {"tls.crt": "planted-text", "tls.key": "planted-key"}}
    problems = item(body)
    assert isinstance(problems, tuple)
    assert not any("planted" in str(each) for each in problems)


def test_addresses_are_still_judged_one_by_one() -> None:
    problems = item(endpoint_slice("cart-1", "cart", "10.0.0.1", "10.0.0.256", "::1"))
    assert isinstance(problems, tuple)
    assert [each.field for each in problems] == ["endpoints[1].addresses[0]", "endpoints[2].addresses[0]"]
