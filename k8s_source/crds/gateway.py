"""What the types of a DynamicGateway do not say: descriptions, rules, how lists merge, and bounds of a stored object.

Rules cost: the API server adds up what they could at the bounds of all lists and texts, and refuses a definition whose
sum is too high. So each of those has a bound here, if its type has none.
"""

from __future__ import annotations

from k8s_source.crds import rules, words
from k8s_source.crds.schema import Book, Notes, Schema
from k8s_source.kinds.gateway_fields import LONGEST_REGEX
from k8s_source.kinds.gateway_status import ConditionStatus, DynamicGatewayStatus, RouteStatus
from k8s_source.kinds.gateway_tidegate import (
    DynamicGatewaySpec,
    ListenerSpec,
    ListenerTls,
    PolicySpec,
    RouteFields,
    RouteSpec,
)
from k8s_source.kinds.gateway_v1beta1 import DynamicGatewaySpecV1Beta1, LagSpec, RouteSpecV1Beta1

MOST_ROUTES = 1024
MOST_LISTENERS = 64
MOST_NAMES = 256
"""Hosts, or topics, of a route."""

LONGEST_ADDRESS = 64


def _by_name(most: int) -> Schema:
    return {"maxItems": most, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


_SPEC: dict[str, Schema] = {
    "routes": _by_name(MOST_ROUTES),
    # Names may be left out, and ports may be 0 twice, so nothing is a key.
    "listeners": {"maxItems": MOST_LISTENERS, "x-kubernetes-list-type": "atomic"},
}
_NAMES: Schema = {"maxItems": MOST_NAMES, "x-kubernetes-list-type": "atomic"}
_WATCHED = frozenset({"kafkaCluster", "noCommit", "enterSamples", "minDwell"})
_LAG = frozenset({"cluster", "noCommit", "enterSamples", "minDwell"})
"""Fields whose defaults are not stored.

In v1alpha1 they mean nothing where nothing is watched, and each route would have a `lag` in v1beta1. And what v1beta1 alone
would add, a write of the object as it was read would change.
"""

BOOK: Book = {
    DynamicGatewaySpec: Notes(words.SPEC, more=_SPEC),
    DynamicGatewaySpecV1Beta1: Notes(words.SPEC, more=_SPEC),
    RouteFields: Notes(
        words.ROUTE, rules.ROUTE, {"path": {"minLength": 1, "maxLength": LONGEST_REGEX}, "hosts": _NAMES}
    ),
    RouteSpec: Notes(words.ALPHA_WATCHED, rules.ALPHA_ROUTE, {"kafkaTopics": _NAMES}, _WATCHED),
    RouteSpecV1Beta1: Notes({"lag": "What is watched, and how much of it is too much."}, rules.BETA_ROUTE),
    LagSpec: Notes(words.BETA_WATCHED, rules.LAG, {"topics": _NAMES}, _LAG),
    ListenerSpec: Notes(
        words.LISTENER,
        rules.LISTENER,
        {"address": {"maxLength": LONGEST_ADDRESS, "x-kubernetes-validations": list(rules.ADDRESS)}},
    ),
    ListenerTls: Notes(words.TLS),
    PolicySpec: Notes(words.POLICY, more={"fullResyncInterval": {"x-kubernetes-validations": list(rules.NOT_ZERO)}}),
    DynamicGatewayStatus: Notes(
        words.STATUS,
        more={
            "conditions": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
            "routes": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            "lastAckedVersion": {"nullable": True},
            "lastError": {"nullable": True},
        },
        is_required=False,
    ),
    ConditionStatus: Notes(words.CONDITION),
    RouteStatus: Notes(words.ROUTE_STATUS),
}
