"""DynamicGateways: listeners, policy, and the routes, as far as they are right."""

from __future__ import annotations

from k8s_source.kinds.addresses import FAMILIES, canonical
from k8s_source.kinds.conversion import API_GROUP, KIND
from k8s_source.kinds.fields import seconds
from k8s_source.kinds.gateway_tidegate import DynamicGateway, ListenerSpec, PolicySpec
from k8s_source.kinds.meta import GROUP_ANNOTATION
from k8s_source.to_ir.routes import Around, Surroundings, routes_of
from xds_server.derive.collection import Read
from xds_server.ir.gateway import Gateway, GatewayKey, Listener, Policy, Protocol, SecretKey
from xds_server.ir.objects import Object, ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

__all__ = ["Surroundings", "make_gateway"]

ANY_ADDRESS = "0.0.0.0"
"""Where a listener that tells no address takes requests."""

_DEFAULT_LISTENERS = (ListenerSpec(port=8080, name="http"),)


def make_gateway(read: Read, surroundings: Surroundings, key: ObjectKey, standing: Standing) -> Gateway | None:
    """A gateway; None for other kinds."""
    if (key.api_group, key.kind) != (API_GROUP, KIND):
        return None
    identity = GatewayKey(key.namespace, key.name)
    newest = standing.problems[0].origin if standing.problems else None
    declared = standing.object
    if declared is None or not isinstance(declared.value, DynamicGateway):
        origin = newest or Origin("", kind=key.kind, namespace=key.namespace, name=key.name)
        return Gateway(identity, "default", (), (), Policy(), origin, origin.generation, standing.problems)
    value, origin = declared.value, declared.origin
    routes, wrong_routes = routes_of(Around(read, surroundings, identity, origin), value.spec.routes)
    listeners, wrong_listeners = _listeners(identity, value.spec.listeners or _DEFAULT_LISTENERS, origin)
    return Gateway(
        identity,
        _group(value, declared),
        listeners,
        routes,
        _policy(value.spec.policy),
        origin,
        (newest if newest is not None and newest.kind else origin).generation,
        (*standing.problems, *wrong_listeners, *wrong_routes),
        (value.metadata.creation_timestamp or "", origin.path, origin.document),
    )


def _group(value: DynamicGateway, declared: Object) -> str:
    return (value.metadata.annotations or {}).get(GROUP_ANNOTATION) or declared.folder_group


def _policy(spec: PolicySpec) -> Policy:
    return Policy(seconds(spec.full_resync_interval), spec.fail_open, spec.require_envoy_ack)


def _listeners(
    gateway: GatewayKey, specs: tuple[ListenerSpec, ...], origin: Origin
) -> tuple[tuple[Listener, ...], tuple[Problem, ...]]:
    """The listeners, each name and each socket once; the first stays."""
    names: dict[str, Listener] = {}
    problems: list[Problem] = []
    for index, spec in enumerate(specs):
        listener = _listener(gateway, spec)
        taken = next((each for each in names.values() if _collide(each, listener)), None)
        if taken is None:
            names[listener.name] = listener
        else:
            problems.append(_duplicate(origin, index, listener, taken))
    return tuple(names.values()), tuple(problems)


def _listener(gateway: GatewayKey, spec: ListenerSpec) -> Listener:
    secret = None if spec.tls is None else SecretKey(gateway.namespace, spec.tls.secret_name)
    name = spec.name or f"{spec.protocol.lower()}-{spec.port}"
    return Listener(name, _address(spec), spec.port, Protocol(spec.protocol), secret)


def _address(spec: ListenerSpec) -> str:
    address = spec.address or ANY_ADDRESS
    return next(each for family in FAMILIES if (each := canonical(address, family)) is not None)


def _collide(one: Listener, other: Listener) -> bool:
    return one.name == other.name or (one.port != 0 and (one.address, one.port) == (other.address, other.port))


def _duplicate(origin: Origin, index: int, listener: Listener, taken: Listener) -> Problem:
    if listener.name == taken.name:
        message = f"two listeners have the name {listener.name!r}; the first stays, this one is not served"
        return Problem(origin, "DuplicateListener", message, f"spec.listeners[{index}].name")
    message = f"listener {taken.name!r} has port {listener.port} already; listener {listener.name!r} is not served"
    return Problem(origin, "DuplicateListener", message, f"spec.listeners[{index}].port")
