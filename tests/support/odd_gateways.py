"""DynamicGateways for properties of conversion: what the schema lets through, and what it never would."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from k8s_source.kinds.conversion import V1ALPHA1, V1BETA1

Body = dict[str, Any]
VERSIONS = (V1ALPHA1, V1BETA1)
OTHER = {V1ALPHA1: V1BETA1, V1BETA1: V1ALPHA1}

_names = st.sampled_from(["a", "orders", "orders-cached", "b.c"])
_numbers = st.integers(0, 2**63 - 1) | st.floats(0, 1e6)
_watched: dict[str, st.SearchStrategy[Any]] = {
    "topics": st.lists(_names, max_size=3),
    "cluster": _names,
    "noCommit": st.sampled_from(["earliest", "latest"]),
    "prometheusQuery": st.sampled_from(["up", "sum(rate(x[1m]))"]),
    "recoverThreshold": _numbers,
    "enterSamples": st.integers(1, 1000),
    "minDwell": st.sampled_from(["0", "30s", "1m30s"]),
}
_flat = {"topics": "kafkaTopics", "cluster": "kafkaCluster"}
_led: dict[str, st.SearchStrategy[Any]] = {
    "degradeService": _names,
    "pathType": st.sampled_from(["Prefix", "Exact", "Regex"]),
    "hosts": st.lists(st.sampled_from(["*", "shop.example.com"]), max_size=2),
    "port": st.integers(1, 65535) | st.just("http"),
    "maxQps": st.floats(0.1, 1e9),
    "timeout": st.sampled_from(["0s", "15s"]),
    "retries": st.integers(0, 100),
}
_needed: dict[str, st.SearchStrategy[Any]] = {
    "name": _names,
    "path": st.sampled_from(["/", "/orders", "/" + "x" * 1000]),
    "backendService": _names,
}
_alpha_watch = {_flat.get(name, name): each for name, each in _watched.items()} | {
    "kafkaConsumerGroup": _names,
    "kafkaLagThreshold": st.integers(0, 2**63 - 1),
    "threshold": _numbers,
}
_beta_watch = _watched | {"consumerGroup": _names, "threshold": _numbers}

alpha_routes = st.fixed_dictionaries(_needed, optional=_led | _alpha_watch)
beta_routes = st.fixed_dictionaries(_needed, optional=_led | {"lag": st.fixed_dictionaries({}, optional=_beta_watch)})
routes = {V1ALPHA1: alpha_routes, V1BETA1: beta_routes}

_keys = st.sampled_from(["lag", "threshold", "kafkaLagThreshold", "kafkaTopics", "topics", "consumerGroup", "x", ""])
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys | st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
_annotations = st.dictionaries(st.sampled_from(["a", "tidegate.dev/group"]), st.text(max_size=5), min_size=1)
_metadata = st.fixed_dictionaries({"name": _names, "uid": st.just("u-1")}, optional={"annotations": _annotations})


def with_junk(route: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Routes some of whose fields are null, of another type, or none of ours."""
    return st.builds(lambda a, b: {**a, **b} if isinstance(b, dict) else b, route, junk)


def manifests(version: str, route: st.SearchStrategy[Any]) -> st.SearchStrategy[Body]:
    """Objects of a version with such routes."""
    spec = st.fixed_dictionaries(
        {}, optional={"routes": st.lists(route, max_size=4), "policy": st.none() | st.just({"failOpen": True})}
    )
    return st.fixed_dictionaries(
        {"apiVersion": st.just(version), "kind": st.just("DynamicGateway"), "metadata": _metadata, "spec": spec}
    )


def odd_manifests(version: str) -> st.SearchStrategy[Body]:
    """Objects that no schema would take."""
    spec = junk | st.fixed_dictionaries({"routes": junk | st.lists(with_junk(routes[version]), max_size=4)})
    return st.fixed_dictionaries({"apiVersion": st.just(version), "metadata": _metadata, "spec": spec, "status": junk})


def samples(strategy: st.SearchStrategy[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """That many of them, the same each time."""
    found: list[dict[str, Any]] = []
    quiet = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def take(body: dict[str, Any]) -> None:
        found.append(body)

    quiet(given(body=strategy)(take))()
    return copy.deepcopy(found[:count])


def mixed(bodies: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """More objects made of the parts of some: metadata of one, routes of any, the rest of a third."""
    chance = random.Random(len(bodies))
    routes = [each for body in bodies for each in _routes(body)]
    found = []
    for _ in range(count):
        one, other = chance.choice(bodies), chance.choice(bodies)
        made = copy.deepcopy(one) | {"metadata": copy.deepcopy(other["metadata"])}
        if isinstance(made["spec"], dict) and chance.random() < 0.8:
            made["spec"]["routes"] = copy.deepcopy(chance.choices(routes, k=chance.randint(0, 5)))
        found.append(made)
    return bodies + found


def _routes(body: dict[str, Any]) -> list[Any]:
    spec = body["spec"]
    found = spec.get("routes") if isinstance(spec, dict) else None
    return found if isinstance(found, list) else []
