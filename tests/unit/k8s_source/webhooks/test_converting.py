"""Answers to ConversionReviews: K48's two thousand objects, and what is said of reviews that are none of ours."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from k8s_source.kinds.conversion import V1ALPHA1, V1BETA1
from k8s_source.webhooks import converting
from k8s_source.webhooks.review import ReviewError
from tests.support.odd_gateways import OTHER, VERSIONS, manifests, mixed, odd_manifests, routes, samples, with_junk
from tests.unit.k8s_source.kinds.test_conversion import text
from tests.unit.k8s_source.manifests import gateway, route, watching

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))


@pytest.mark.parametrize("version", VERSIONS)
def test_k48_a_thousand_of_each_version_by_review_and_back(version: str) -> None:
    sorts = (
        manifests(version, routes[version]),
        manifests(version, with_junk(routes[version])),
        odd_manifests(version),
    )
    bodies = [each for sort in sorts for each in mixed(samples(sort, 50), 334)]
    assert len(bodies) > 1000
    bodies = [each | {"kind": "DynamicGateway"} for each in bodies]
    for start in range(0, len(bodies), 100):
        batch = bodies[start : start + 100]
        there = review(batch, OTHER[version])
        back = review(there, version)
        assert [text(each) for each in back] == [text(each) for each in batch]


def review(objects: list[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    """Convert them as the API server asks."""
    request = {"uid": "u", "desiredAPIVersion": version, "objects": objects}
    asked = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    begun = time.process_time()
    made, _ = converting.answer(json.dumps(asked).encode())
    assert time.process_time() - begun < 1
    response = json.loads(made)["response"]
    assert response["result"] == {"status": "Success"}
    found: list[dict[str, Any]] = response["convertedObjects"]
    return found


def answered(objects: object, version: object = V1BETA1, **fields: object) -> dict[str, Any]:
    request = {"uid": "u", "desiredAPIVersion": version, "objects": objects}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    found: dict[str, Any] = json.loads(converting.answer(json.dumps(review | fields).encode())[0])
    assert (found["apiVersion"], found["kind"], found["response"]["uid"]) == (
        "apiextensions.k8s.io/v1",
        "ConversionReview",
        "u",
    )
    response: dict[str, Any] = found["response"]
    return response


def test_a_hundred_large_objects_in_less_than_a_second() -> None:
    routes = [watching(name=f"r{i}", path="/" + "x" * 1000, prometheusQuery="y" * 2000) for i in range(20)]
    bodies = [gateway(*routes, name=f"g{i}") for i in range(100)]
    begun = time.process_time()
    assert len(answered(bodies)["convertedObjects"]) == 100
    assert time.process_time() - begun < 1


def test_nothing_to_convert() -> None:
    assert answered([]) == {"uid": "u", "result": {"status": "Success"}, "convertedObjects": []}


@pytest.mark.parametrize(
    ("body", "version", "words"),
    [
        (gateway(route()), "gateway.tidegate.dev/v2", "found 'gateway.tidegate.dev/v2'"),
        ({"apiVersion": "v1", "kind": "Service"}, V1BETA1, "objects[0]: expected a DynamicGateway of"),
        ({**gateway(), "kind": "Other"}, V1ALPHA1, "found Other of gateway.tidegate.dev/v1alpha1"),
        ({}, V1ALPHA1, "found None of None"),
    ],
)
def test_what_is_none_of_ours_fails_with_words(body: object, version: str, words: str) -> None:
    response = answered([body], version)
    assert response["result"]["status"] == "Failure"
    assert words in response["result"]["message"]
    assert response["convertedObjects"] == []


def with_objects(objects: bytes) -> bytes:
    start = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",'
    return start + b'"desiredAPIVersion":"x","objects":[' + objects + b"]}}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "Input data was truncated"),
        (b"\xff", "expected one ConversionReview of apiextensions.k8s.io/v1"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `apiVersion`"),
        (b'{"apiVersion":"v1","kind":"List"}', "found List of v1"),
        (b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}', "missing required field `request`"),
        (with_objects(b"5"), "$.request.objects[0]"),
        (with_objects(b'{"a":' * 100_000), "nested too deeply"),
    ],
)
def test_what_is_no_review_is_told(body: bytes, words: str) -> None:
    with pytest.raises(ReviewError) as told:
        converting.answer(body)
    assert words in str(told.value)
