"""Answers an AdmissionReview (admission.k8s.io/v1) about a DynamicGateway. Pure: it changes nothing, also in a dry run.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from k8s_source.kinds.conversion import API_GROUP, KIND
from k8s_source.webhooks.judging import judge
from k8s_source.webhooks.review import read
from xds_server.ir.problem import Problem

API_VERSION, REVIEW = "admission.k8s.io/v1", "AdmissionReview"

_CAUSES = {"MissingField": "FieldValueRequired", "UnknownField": "FieldValueNotSupported"}
_DUPLICATES = {"DuplicateRoute", "OverlappingPath", "DuplicateListener"}
"""Reasons, of which metav1 has only a few, by its words (CauseType)."""

_WARNING_LIMIT = 120
"""Letters of a warning that API servers let through whole."""


class AdmissionRequest(Struct, rename="camel"):
    """What is about to be done."""

    uid: str
    operation: str = ""
    sub_resource: str = ""
    name: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None


class AdmissionReview(Struct):
    """The request in its envelope."""

    request: AdmissionRequest


def answer(body: bytes) -> tuple[bytes, str]:
    """The answer to a review, and its outcome for metrics: `allowed` or `denied`.

    Raises:
        ReviewError: The body is no review.
    """
    request = read(body, API_VERSION, REVIEW, AdmissionReview).request
    response: dict[str, object] = {"uid": request.uid, "allowed": True}
    if request.object is not None and _is_asked(request, request.object):
        faults, warnings = judge(_named(request.object, request.name))
        if warnings:
            response["warnings"] = [each[:_WARNING_LIMIT] for each in warnings]
        if faults:
            response |= {"allowed": False, "status": _refusal(request.object, faults)}
    made = msgspec.json.encode({"apiVersion": API_VERSION, "kind": REVIEW, "response": response})
    return made, "allowed" if response["allowed"] else "denied"


def _is_asked(request: AdmissionRequest, body: dict[str, Any]) -> bool:
    """Whether there is something to judge.

    An object on its way out is let go, and one whose spec stays as it is may change in all else, however wrong it is: else
    nobody could take a finalizer off it.
    """
    if body.get("kind") != KIND or request.sub_resource or request.operation not in {"CREATE", "UPDATE"}:
        return False
    if _metadata(body).get("deletionTimestamp"):
        return False
    old = request.old_object
    return old is None or request.operation == "CREATE" or old.get("spec") != body.get("spec")


def _named(body: dict[str, Any], name: str) -> dict[str, Any]:
    """The object with a name: one that is to be given one (`generateName`) may have none yet."""
    metadata = _metadata(body)
    return body | {"metadata": {**metadata, "name": metadata.get("name") or name or "unnamed"}}


def _refusal(body: dict[str, Any], faults: tuple[Problem, ...]) -> dict[str, object]:
    """A `metav1.Status` as the API server itself makes one of an invalid object."""
    name = str(_metadata(body).get("name", ""))
    told = [f"{each.field}: {each.message}" if each.field else each.message for each in faults]
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    causes = [{"reason": _cause(each), "field": each.field, "message": each.message} for each in faults]
    return {
        "code": HTTPStatus.UNPROCESSABLE_ENTITY,
        "status": "Failure",
        "reason": "Invalid",
        "message": f'{KIND}.{API_GROUP} "{name}" is invalid: {listed}',
        "details": {"name": name, "group": API_GROUP, "kind": KIND, "causes": causes},
    }


def _cause(fault: Problem) -> str:
    if fault.reason in _DUPLICATES:
        return "FieldValueDuplicate"
    return _CAUSES.get(fault.reason, "FieldValueInvalid")


def _metadata(body: dict[str, Any]) -> dict[str, Any]:
    found = body.get("metadata")
    return found if isinstance(found, dict) else {}
