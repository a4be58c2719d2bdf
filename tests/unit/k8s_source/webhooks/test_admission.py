"""Answers to AdmissionReviews: what is refused, with every fault; and what is let through, however wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from k8s_source.kinds.conversion import V1BETA1, convert
from k8s_source.webhooks import admission
from k8s_source.webhooks.review import ReviewError
from tests.support.odd_gateways import VERSIONS, odd_manifests
from tests.unit.k8s_source.manifests import Body, gateway, route, watching

WRONG = gateway(route(path="/a/../b"), route(name="regex", path="/(a", pathType="Regex"))


def answered(body: object, operation: str = "CREATE", old: object = None, **fields: object) -> dict[str, Any]:
    request = {"uid": "u", "operation": operation, "object": body, "oldObject": old, **fields}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    made, outcome = admission.answer(json.dumps(review).encode())
    response: dict[str, Any] = json.loads(made)["response"]
    assert response["uid"] == "u"
    assert outcome == ("allowed" if response["allowed"] else "denied")
    return response


def test_all_faults_are_told() -> None:
    response = answered(WRONG)
    status = response["status"]
    assert not response["allowed"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"].startswith('DynamicGateway.gateway.tidegate.dev "shop" is invalid: [spec.routes[0].path: ')
    causes = status["details"]["causes"]
    assert [each["field"] for each in causes] == ["spec.routes[0].path", "spec.routes[1].path"]
    assert "write '/b'" in causes[0]["message"]
    assert "syntax of RE2: missing )" in causes[1]["message"]
    assert "warnings" not in response


@pytest.mark.parametrize(
    ("body", "field", "cause"),
    [
        (gateway(route(), route(name="b")), "spec.routes[1].path", "FieldValueDuplicate"),
        (gateway(route(), route(path="/b")), "spec.routes[1].name", "FieldValueDuplicate"),
        (gateway(listeners=[{"port": 80, "name": "a"}, {"port": 80}]), "spec.listeners[1].port", "FieldValueDuplicate"),
        (
            gateway(listeners=[{"port": 80}, {"port": 81, "name": "http-80"}]),
            "spec.listeners[1].name",
            "FieldValueDuplicate",
        ),
        (gateway(route(path="/a{200}", pathType="Regex")), "spec.routes[0].path", "FieldValueInvalid"),
        (gateway(route(kafkaLagThreshold=1)), "spec.routes[0].kafkaConsumerGroup", "FieldValueRequired"),
        (
            {**gateway(route(degradeService="b", lag={"threshold": 1})), "apiVersion": V1BETA1},
            "spec.routes[0].lag.consumerGroup",
            "FieldValueRequired",
        ),
        (gateway(route(pth="/")), "spec.routes[0].pth", "FieldValueNotSupported"),
    ],
)
def test_each_is_told_with_its_field(body: Body, field: str, cause: str) -> None:
    (first, *_) = answered(body)["status"]["details"]["causes"]
    assert (first["field"], first["reason"]) == (field, cause)


def test_what_can_not_be_known_is_not_asked() -> None:
    response = answered(
        gateway(watching(port="http"), listeners=[{"port": 443, "protocol": "HTTPS", "tls": {"secretName": "x"}}])
    )
    assert response == {"uid": "u", "allowed": True}


def test_what_has_no_effect_is_warned_of() -> None:
    body = gateway(route(minDwell="5s"), route(name="b", path="/b", degradeService="x"), watching(name="c", path="/c"))
    response = answered(body)
    assert response["allowed"]
    assert [each.partition("'")[2][:1] for each in response["warnings"]] == ["c", "b"]
    assert all(len(each) <= 120 for each in response["warnings"])
    assert answered(convert(body, V1BETA1)) == response


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", ""])
def test_only_what_is_written_is_judged(operation: str) -> None:
    assert answered(WRONG, operation)["allowed"]


def test_on_the_way_out_nothing_is_refused() -> None:
    leaving = {**WRONG, "metadata": {"name": "shop", "deletionTimestamp": "2026-11-30T09:00:00Z"}}
    assert answered(leaving, "UPDATE", gateway())["allowed"]


def test_an_object_that_is_wrong_may_change_in_all_but_its_spec() -> None:
    changed = {**WRONG, "metadata": {"name": "shop", "finalizers": []}, "status": {"phase": "Ready"}}
    assert answered(changed, "UPDATE", WRONG)["allowed"]
    spec: Any = WRONG["spec"]
    assert not answered({**changed, "spec": {**spec, "policy": {}}}, "UPDATE", WRONG)["allowed"]
    assert not answered(changed, "CREATE", WRONG)["allowed"]


def test_a_status_is_not_judged_nor_are_other_kinds() -> None:
    assert answered(WRONG, "UPDATE", gateway(), subResource="status")["allowed"]
    assert answered({"apiVersion": "v1", "kind": "Service"})["allowed"]
    assert answered(None, "DELETE", WRONG)["allowed"]


def test_a_name_that_is_yet_to_be_given() -> None:
    body = {**gateway(route()), "metadata": {"generateName": "shop-"}}
    assert answered(body)["allowed"]


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_comes_is_answered(version: str, data: st.DataObject) -> None:
    body = data.draw(odd_manifests(version)) | {"kind": "DynamicGateway"}
    response = answered(body)
    assert response["allowed"] is ("status" not in response)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}'])
def test_what_is_no_review_is_told(body: bytes) -> None:
    with pytest.raises(ReviewError, match=r"expected one AdmissionReview of admission\.k8s\.io/v1"):
        admission.answer(body)
