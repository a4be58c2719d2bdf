"""Gateways, backends and facts as values, and the derivation of all that comes of them: for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xds_server.derive.collection import Collection, Edit
from xds_server.derive.engine import Changes, Engine, Input
from xds_server.derive.facts import Remembered, facts_of
from xds_server.derive.model import Model
from xds_server.ir.backend import Backend, BackendKey, Endpoint, Locality
from xds_server.ir.decision import Choice, Decision, GatewayReport
from xds_server.ir.facts import LagQuery, RouteKey, Rule, Watch
from xds_server.ir.gateway import (
    Certificate,
    Gateway,
    GatewayKey,
    Listener,
    Path,
    PathKind,
    Policy,
    Protocol,
    Route,
    SecretKey,
)
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.translate.gateway import derive_gateways
from xds_server.translate.messages import parse
from xds_server.wire.resource import Resource
from xds_server.wire.types import url_of

NAMESPACE = "shop"
HTTP = Listener("http", "0.0.0.0", 8080)


def origin(kind: str, name: str, **fields: Any) -> Origin:
    """Where an object was declared."""
    return Origin("files", f"{name}.yaml", 1, 1, kind=kind, namespace=NAMESPACE, name=name, **fields)


def backend_key(name: str) -> BackendKey:
    """Port 80 of a service."""
    return BackendKey(NAMESPACE, name, 80)


def backend(name: str, *addresses: str, zone: str = "", http2: bool = False) -> Backend:
    """A service with endpoints on port 8080 of these addresses, all in one zone."""
    made = (Locality(zone, tuple(Endpoint(address, 8080) for address in sorted(addresses))),) if addresses else ()
    objects = (origin("Service", name), origin("EndpointSlice", f"{name}-1"))
    return Backend(backend_key(name), made, objects, http2=http2)


def watch(group: str = "workers", threshold: float = 100.0) -> Watch:
    """A watch of a group's lag."""
    return Watch(LagQuery("default", group), Rule(threshold, threshold * 0.8))


def route(
    name: str, path: str = "/", *, gateway: str = "web", kind: PathKind = PathKind.PREFIX, **fields: Any
) -> Route:
    """A route of a gateway to the services `primary` and `degrade`."""
    primary, degrade = fields.pop("primary", "orders"), fields.pop("degrade", None)
    return Route(
        RouteKey(NAMESPACE, gateway, name),
        tuple(fields.pop("hosts", ("*",))),
        Path(kind, path),
        None if primary is None else backend_key(primary),
        None if degrade is None else backend_key(degrade),
        **fields,
    )


def gateway(*routes: Route, name: str = "web", **fields: Any) -> Gateway:
    """A gateway; one that was created earlier is the senior one."""
    created = fields.pop("created", "2026-01-01")
    return Gateway(
        GatewayKey(NAMESPACE, name),
        fields.pop("group", "default"),
        tuple(fields.pop("listeners", (HTTP,))),
        routes,
        Policy(fail_open=fields.pop("fail_open", False)),
        origin("DynamicGateway", name),
        seniority=(created, f"{name}.yaml", 1),
        **fields,
    )


def https(name: str = "certificate", port: int = 8443) -> Listener:
    """A listener that takes HTTPS with the certificate of that name."""
    return Listener("https", "0.0.0.0", port, Protocol.HTTPS, SecretKey(NAMESPACE, name))


def certificate(name: str = "certificate", chain: str = "CHAIN", private_key: str = "KEY") -> Certificate:
    """A certificate."""
    return Certificate(SecretKey(NAMESPACE, name), chain, private_key, origin("Secret", name))


class Derivation:
    """An engine with all that comes of gateways, and what it was told."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.gateways: Input[GatewayKey, Gateway] = self.engine.input("gateways")
        self.backends: Input[BackendKey, Backend] = self.engine.input("backends")
        self.certificates: Input[SecretKey, Certificate] = self.engine.input("certificates")
        self.concerns: Input[GatewayKey, tuple[Problem, ...]] = self.engine.input("concerns")
        self.facts = facts_of(self.engine)
        self.ends = derive_gateways(
            self.engine, Model(self.gateways, self.backends, self.certificates, self.concerns), self.facts
        )

    def put(self, *values: Gateway | Backend | Certificate) -> Changes:
        """Declare these."""
        return self.update(*(self._edit(value) for value in values))

    def update(self, *edits: Edit) -> Changes:
        """Change inputs; a maker that fails fails the test."""
        changes = self.engine.update(*edits)
        assert changes.faults == []
        return changes

    def remember(self) -> Changes:
        """Write the memory, as is done after a round."""
        decided = {
            key: Remembered(found.choice, found.backend)
            for key, found in self.ends.decisions.values.items()
            if found.choice in {Choice.PRIMARY, Choice.DEGRADED} and found.backend is not None
        }
        endpoints = {key: each.localities for key, each in self.backends.values.items() if each.localities}
        return self.update(self.facts.decided.edit(decided), self.facts.endpoints.edit(endpoints))

    def drain(self, *names: str) -> Changes:
        """End the time for which these are served the endpoints that they had."""
        return self.update(self.facts.drained.edit({backend_key(name): True for name in names}))

    def backends_gone(self, *names: str) -> Changes:
        """Take services away."""
        return self.update(self.backends.edit({backend_key(name): None for name in names}))

    def _edit(self, value: Gateway | Backend | Certificate) -> Edit:
        if isinstance(value, Gateway):
            return self.gateways.edit({value.key: value})
        if isinstance(value, Backend):
            return self.backends.edit({value.key: value})
        return self.certificates.edit({value.key: value})

    def decision(self, name: str, gateway: str = "web") -> Decision:
        """What was decided for a route."""
        return self.ends.decisions.values[RouteKey(NAMESPACE, gateway, name)]

    def report(self, name: str = "web") -> GatewayReport:
        """The report of a gateway."""
        return self.ends.reports.values[GatewayKey(NAMESPACE, name)]

    def resource(self, key: str, name: str, group: str = "default") -> Resource:
        """A resource by the short key of its type."""
        return self.ends.resources.values[group, url_of(key), name]

    def message(self, key: str, name: str, group: str = "default") -> Any:
        """A resource as the message that it is."""
        found = self.resource(key, name, group)
        return parse(found.type_url, found.body)

    def names(self, key: str, group: str = "default") -> list[str]:
        """The names of all resources of a type."""
        return sorted(name for where, url, name in self.ends.resources.values if (where, url) == (group, url_of(key)))


def derived(*values: Gateway | Backend | Certificate) -> Derivation:
    """What comes of these."""
    made = Derivation()
    made.put(*values)
    return made


def contents(collection: Collection[Any, Resource]) -> Mapping[Any, tuple[bytes, object, object]]:
    """All resources of a collection, to be compared: bytes, references, and the objects that made them."""
    return {key: (each.body, each.refs, each.origins) for key, each in collection.values.items()}


def reasons(problems: Iterable[Any]) -> list[str]:
    """The reasons of problems."""
    return [problem.reason for problem in problems]
