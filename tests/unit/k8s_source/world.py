"""The model of a set of manifests that changes: for tests of the translation to it."""

from __future__ import annotations

from k8s_source.kinds.decode import decode_manifest
from k8s_source.to_ir.build import build
from tests.unit.k8s_source.manifests import FILE, Body
from xds_server.derive.engine import Changes, Engine, Input
from xds_server.ir.backend import Backend, BackendKey
from xds_server.ir.gateway import Gateway, GatewayKey, Route
from xds_server.ir.objects import Object, ObjectKey, Standing
from xds_server.ir.problem import Problem


class World:
    """Manifests by identity, and the model of them. One that is refused leaves the last good one in force."""

    def __init__(self, *bodies: Body) -> None:
        self.engine = Engine()
        self.standings: Input[ObjectKey, Standing] = self.engine.input("standings")
        self.model = build(self.engine, self.standings)
        self.put(*bodies)

    def put(self, *bodies: Body) -> Changes:
        """Declare these."""
        return self._update({key: standing for body in bodies for key, standing in [self._standing(body)]})

    def remove(self, *bodies: Body) -> Changes:
        """Take these back."""
        return self._update({self._standing(body)[0]: None for body in bodies})

    def gateway(self, name: str = "shop") -> Gateway:
        """A gateway of the namespace `default`."""
        return self.model.gateways.values[GatewayKey("default", name)]

    def route(self, name: str = "cart") -> Route:
        """A route of the gateway `shop`."""
        return next(each for each in self.gateway().routes if each.key.route == name)

    def backend(self, service: str = "cart", port: int = 80) -> Backend:
        """A backend of the namespace `default`."""
        return self.model.backends.values[BackendKey("default", service, port)]

    def endpoints(self, service: str = "cart", port: int = 80) -> list[str]:
        """The endpoints of a backend, as `address:port`."""
        found = self.backend(service, port).localities
        return [f"{each.address}:{each.port}" for locality in found for each in locality.endpoints]

    def _standing(self, body: Body) -> tuple[ObjectKey, Standing]:
        found = decode_manifest(body, FILE, "default")
        if isinstance(found, Object):
            return found.key, Standing(found)
        origin = found[0].origin
        key = ObjectKey.of(origin)
        before = self.standings.values.get(key)
        return key, Standing(None if before is None else before.object, found)

    def _update(self, values: dict[ObjectKey, Standing | None]) -> Changes:
        changes = self.engine.update(self.standings.edit(values))
        assert changes.faults == []
        return changes


def told(problems: tuple[Problem, ...]) -> list[tuple[str, str]]:
    """Reason and field of each problem."""
    return [(problem.reason, problem.field) for problem in problems]
