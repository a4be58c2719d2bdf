"""Answers a ConversionReview (apiextensions.k8s.io/v1). Pure.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-request-and-response
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from k8s_source.kinds.conversion import KIND, V1ALPHA1, V1BETA1, convert
from k8s_source.webhooks.review import read

API_VERSION, REVIEW = "apiextensions.k8s.io/v1", "ConversionReview"
_VERSIONS = (V1ALPHA1, V1BETA1)


class ConversionRequest(Struct, rename="camel"):
    """Objects, and the version that they are wanted in."""

    uid: str
    objects: list[dict[str, Any]]
    desired_version: str = field(name="desiredAPIVersion")


class ConversionReview(Struct):
    """The request in its envelope."""

    request: ConversionRequest


def answer(body: bytes) -> tuple[bytes, str]:
    """The answer to a review, and its outcome for metrics: `converted`, or `failed` for what is none of ours.

    A DynamicGateway never fails: one odd object would make it impossible to read all of them.

    Raises:
        ReviewError: The body is no review.
    """
    request = read(body, API_VERSION, REVIEW, ConversionReview).request
    wrong = _wrong(request)
    response: dict[str, object] = {"uid": request.uid}
    if wrong:
        response |= {"result": {"status": "Failure", "message": wrong}, "convertedObjects": []}
    else:
        converted = [convert(each, request.desired_version) for each in request.objects]
        response |= {"result": {"status": "Success"}, "convertedObjects": converted}
    made = msgspec.json.encode({"apiVersion": API_VERSION, "kind": REVIEW, "response": response})
    return made, "failed" if wrong else "converted"


def _wrong(request: ConversionRequest) -> str:
    """Why a request is not for us, "" where it is."""
    known = " and ".join(_VERSIONS)
    if request.desired_version not in _VERSIONS:
        return f"expected {known} as desiredAPIVersion, found {request.desired_version[:80]!r}"
    for index, each in enumerate(request.objects):
        version, kind = each.get("apiVersion"), each.get("kind")
        if version not in _VERSIONS or kind != KIND:
            return f"objects[{index}]: expected a {KIND} of {known}, found {str(kind)[:60]} of {str(version)[:80]}"
    return ""
