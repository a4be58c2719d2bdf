"""Conversion between the versions of DynamicGateway: nothing is lost on the way there and back, whatever it is."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from k8s_source.kinds.conversion import V1ALPHA1, V1BETA1, convert
from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.stash import LARGEST_ANNOTATIONS, STASH
from tests.support.odd_gateways import OTHER, VERSIONS, Body, manifests, odd_manifests, routes, with_junk
from tests.unit.k8s_source.manifests import FILE, decoded, gateway, route, watching
from xds_server.ir.objects import Object


def text(body: object) -> str:
    """As Kubernetes keeps it: 5.0 is 5; of it 1 and true differ."""
    return json.dumps(_whole(body), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def stored(body: Body) -> Body:
    """What is left of an object on its way through Kubernetes: JSON, in which 5.0 is 5."""
    made: Body = json.loads(text(body))
    return made


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sort", ["admitted", "odd fields", "junk"])
@given(data=st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_there_and_back_is_the_same(version: str, sort: str, data: st.DataObject) -> None:
    made = {
        "admitted": manifests(version, routes[version]),
        "odd fields": manifests(version, with_junk(routes[version])),
        "junk": odd_manifests(version),
    }
    body = data.draw(made[sort])
    before = deepcopy(body)
    there = convert(body, OTHER[version])
    assert body == before, "it changed its input"
    assert there["apiVersion"] == OTHER[version]
    assert unannotated(there) == unannotated(body)
    back = convert(stored(there), version)
    assert text(back) == text(body)
    assert text(convert(stored(back), OTHER[version])) == text(there)


def unannotated(body: Body) -> Body:
    """What must be as it was: all but the version, the spec and the annotations."""
    metadata = {key: each for key, each in body["metadata"].items() if key != "annotations"}
    return {key: each for key, each in body.items() if key not in {"apiVersion", "spec", "metadata"}} | metadata


@given(manifests(V1ALPHA1, routes[V1ALPHA1]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_one_is_valid_where_the_other_is_and_means_the_same(body: Body) -> None:
    found = decode_manifest(body, FILE, "default")
    other = decode_manifest(convert(body, V1BETA1), FILE, "default")
    if isinstance(found, Object):
        assert isinstance(other, Object), other
        assert other.value == found.value
    elif not is_stashed(body):
        assert isinstance(other, tuple), "v1beta1 takes what v1alpha1 refuses"


def is_stashed(body: Body) -> bool:
    """Whether a route is wrong in a way that v1beta1 has no words for, such as the threshold of nothing."""
    metadata: Any = convert(body, V1BETA1)["metadata"]
    return STASH in metadata.get("annotations", {})


def test_what_is_watched_moves_under_lag() -> None:
    body = gateway(
        watching(kafkaTopics=["t"], kafkaCluster="c", recoverThreshold=5, retries=2),
        route(prometheusQuery="up", threshold=0.5, degradeService="basket", enterSamples=3),
        route(),
    )
    (first, second, third) = convert(body, V1BETA1)["spec"]["routes"]  # type: ignore[index]
    assert first["lag"] == {
        "consumerGroup": "cart",
        "topics": ["t"],
        "cluster": "c",
        "threshold": 100,
        "recoverThreshold": 5,
    }
    assert {*first} == {"name", "path", "backendService", "degradeService", "retries", "lag"}
    assert second["lag"] == {"prometheusQuery": "up", "threshold": 0.5, "enterSamples": 3}
    assert third == route()
    assert decoded(convert(body, V1BETA1)).value == decoded(body).value


def test_two_thresholds_come_back_unless_their_route_was_edited() -> None:
    body = gateway(watching(threshold=7), watching(name="other", threshold=8))
    there = convert(body, V1BETA1)
    there["spec"]["routes"][0]["lag"]["threshold"] = 50  # type: ignore[index]
    (first, second) = convert(there, V1ALPHA1)["spec"]["routes"]  # type: ignore[index]
    assert "threshold" not in first
    assert first["kafkaLagThreshold"] == 50
    assert second == watching(name="other", threshold=8)


def test_what_stands_for_another_version_is_not_put_back() -> None:
    there = convert(gateway(watching(threshold=7)), V1BETA1)
    copied = gateway(watching(), metadata={"annotations": there["metadata"]["annotations"]})  # type: ignore[index]
    assert "annotations" not in convert(copied, V1BETA1)["metadata"]  # type: ignore[operator]
    assert convert(convert(copied, V1BETA1), V1ALPHA1)["spec"] == copied["spec"]


@pytest.mark.parametrize("found", ["", "{", "[]", "5", '{"version":1}', '{"version":"x","routes":{}}'])
def test_an_annotation_that_is_none_of_ours_stops_nothing(found: str) -> None:
    body = gateway(watching(), metadata={"annotations": {STASH: found, "a": "b"}})
    assert convert(body, V1BETA1)["metadata"]["annotations"] == {"a": "b"}  # type: ignore[index]


@pytest.mark.parametrize("kept", [5, {}, {"is": 1}, {"set": [], "unset": {}}, {"set": {}, "unset": [[]]}])
def test_a_stash_that_was_edited_stops_nothing(kept: object) -> None:
    body = gateway(watching(threshold=7))
    there = convert(body, V1BETA1)
    annotations: dict[str, str] = there["metadata"]["annotations"]  # type: ignore[index]
    stash = json.loads(annotations[STASH])
    if isinstance(kept, dict):
        kept = {"is": stash["routes"]["0"]["is"], **kept}
    annotations[STASH] = json.dumps(stash | {"routes": {"0": kept}})
    back = convert(there, V1ALPHA1)
    assert back["spec"]["routes"][0]["kafkaLagThreshold"] == 100  # type: ignore[index]


def test_no_room_for_the_annotation() -> None:
    full = {"a": "b" * (LARGEST_ANNOTATIONS - 10)}
    body = gateway(watching(threshold=7), metadata={"annotations": full})
    there = convert(body, V1BETA1)
    assert there["metadata"]["annotations"] == full  # type: ignore[index]
    assert there["spec"]["routes"][0]["lag"]["threshold"] == 100  # type: ignore[index]


@pytest.mark.parametrize("versions", [(V1ALPHA1, V1ALPHA1), (V1BETA1, "gateway.tidegate.dev/v2"), ("v1", V1BETA1)])
def test_nothing_else_is_touched(versions: tuple[str, str]) -> None:
    body = {**gateway(watching(threshold=7)), "apiVersion": versions[0]}
    assert convert(body, versions[1]) == {**body, "apiVersion": versions[1]}
