"""DynamicGateways from one version to the other, as plain values: whatever was ever stored converts, and comes back.

Only routes differ: v1beta1 has all that a route watches under `lag`. Where the other version has no place for what a
route holds (two thresholds, an empty `lag`, a field that is none of ours), the difference is kept in an annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from k8s_source.kinds.stash import Route, Stash

API_GROUP = "gateway.tidegate.dev"
KIND = "DynamicGateway"
V1ALPHA1 = f"{API_GROUP}/v1alpha1"
V1BETA1 = f"{API_GROUP}/v1beta1"

_MOVED = {
    "kafkaConsumerGroup": "consumerGroup",
    "kafkaTopics": "topics",
    "kafkaCluster": "cluster",
    "noCommit": "noCommit",
    "prometheusQuery": "prometheusQuery",
    "recoverThreshold": "recoverThreshold",
    "enterSamples": "enterSamples",
    "minDwell": "minDwell",
}
"""Fields of a route of v1alpha1, and what they are called in `lag`."""

_OF_LAG, _OF_QUERY = "kafkaLagThreshold", "threshold"
"""The two thresholds of v1alpha1, which are one in `lag`: that of whatever is watched."""

_FLAT = {*_MOVED, _OF_LAG, _OF_QUERY, "lag"}
"""What is not the same in both versions."""


def convert(body: Mapping[str, object], to: str) -> dict[str, object]:
    """The object in the version `to` (an `apiVersion`).

    Nothing but `apiVersion`, `spec.routes` and the annotation of the stash differs. An object that has this version
    already, or one that is none of DynamicGateway, gets the `apiVersion` alone.
    """
    made = {**body, "apiVersion": to}
    spec, now = body.get("spec"), body.get("apiVersion")
    steps = _STEPS.get((now, to))
    if steps is None or not isinstance(spec, Mapping) or not isinstance(spec.get("routes"), list):
        return made
    there, back = steps
    kept, stash = Stash.of(body, to), Stash(str(now))
    routes: list[object] = []
    for index, route in enumerate(spec["routes"]):
        if isinstance(route, dict):
            converted = kept.restored(index, route, there(route))
            stash.note(index, route, back(converted), converted)
            routes.append(converted)
        else:
            routes.append(route)
    made["spec"] = {**spec, "routes": routes}
    metadata = body.get("metadata")
    return made | {"metadata": stash.on(metadata)} if isinstance(metadata, Mapping) else made


def _to_beta(route: Route) -> Route:
    lag = {under: route[above] for above, under in _MOVED.items() if above in route}
    bounds = [name for name in (_bound(route.get("kafkaConsumerGroup")), _OF_LAG, _OF_QUERY) if name in route]
    if bounds:
        lag["threshold"] = route[next((name for name in bounds if route[name] is not None), bounds[0])]
    same = _same(route)
    return same | {"lag": lag} if lag else same


def _to_alpha(route: Route) -> Route:
    lag = route.get("lag")
    if not isinstance(lag, dict):
        return _same(route)
    flat = {above: lag[under] for above, under in _MOVED.items() if under in lag}
    if "threshold" in lag:
        flat[_bound(lag.get("consumerGroup"))] = lag["threshold"]
    return _same(route) | flat


def _bound(group: object) -> str:
    """Which of the two thresholds belongs to a route with that consumer group."""
    return _OF_QUERY if group is None else _OF_LAG


def _same(route: Route) -> Route:
    return {key: value for key, value in route.items() if key not in _FLAT}


_Step = Callable[[Route], Route]
_STEPS: dict[tuple[object, str], tuple[_Step, _Step]] = {
    (V1ALPHA1, V1BETA1): (_to_beta, _to_alpha),
    (V1BETA1, V1ALPHA1): (_to_alpha, _to_beta),
}
"""By the versions from and to: how a route gets there, and how it would come back."""
