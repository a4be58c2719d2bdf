"""Routes of a DynamicGateway: what they match, where they lead, and what they watch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from k8s_source.kinds.fields import seconds
from k8s_source.kinds.gateway_fields import PathType
from k8s_source.kinds.gateway_tidegate import RouteSpec
from k8s_source.to_ir.services import Ports, ServedPort, service_key
from xds_server.derive.collection import Collection, Read
from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import LagQuery, NoCommit, Query, RouteKey, Rule, ValueQuery, Watch
from xds_server.ir.gateway import GatewayKey, Path, PathKind, Route
from xds_server.ir.objects import ObjectKey
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

ALL_HOSTS = ("*",)
"""The hosts of a route that names none."""

_KINDS = {each: PathKind(each.value) for each in PathType}


class Surroundings(NamedTuple):
    """What routes ask of other objects: the ports of Services, and which of these have endpoints by domain name."""

    ports: Collection[ObjectKey, Ports]
    named: Collection[ObjectKey, tuple[ObjectKey, ...]]


class Around(NamedTuple):
    """Where a route stands, and what it may look at."""

    read: Read
    surroundings: Surroundings
    gateway: GatewayKey
    origin: Origin


class _Claim(NamedTuple):
    """What only one route of a gateway can match."""

    host: str
    path: Path


def routes_of(around: Around, specs: Iterable[RouteSpec]) -> tuple[tuple[Route, ...], tuple[Problem, ...]]:
    """The routes, each name once and each match once, of which the first stays; and what is wrong with others."""
    routes: dict[str, Route] = {}
    claims: dict[_Claim, str] = {}
    problems: list[Problem] = []
    for index, spec in enumerate(specs):
        field = f"spec.routes[{index}]"
        if spec.name in routes:
            message = f"two routes have the name {spec.name!r}; the first stays, this one is not served"
            problems.append(Problem(around.origin, "DuplicateRoute", message, f"{field}.name"))
            continue
        path, hosts = _path(spec), _hosts(spec)
        taken = {host: other for host in hosts if (other := claims.get(_Claim(host, path)))}
        if taken:
            problems.append(_overlap(around.origin, f"{field}.path", spec, taken))
        left = tuple(host for host in hosts if host not in taken)
        if left:
            for host in left:
                claims[_Claim(host, path)] = spec.name
            routes[spec.name] = _route(around, field, spec, left, path)
    return tuple(routes.values()), tuple(problems)


def _path(spec: RouteSpec) -> Path:
    """The path; of a prefix a slash at the end says nothing, since whole segments are compared."""
    kind = _KINDS[spec.path_type]
    return Path(kind, spec.path.rstrip("/") or "/" if kind is PathKind.PREFIX else spec.path)


def _hosts(spec: RouteSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host.lower() for host in spec.hosts)) if spec.hosts else ALL_HOSTS


def _overlap(origin: Origin, field: str, spec: RouteSpec, taken: dict[str, str]) -> Problem:
    others = ", ".join(dict.fromkeys(repr(other) for other in taken.values()))
    hosts = ", ".join(taken)
    message = (
        f"route {spec.name!r} matches the same as {others} for {hosts} ({spec.path_type} {spec.path}); the first stays"
    )
    return Problem(origin, "OverlappingPath", message, field)


def _route(around: Around, field: str, spec: RouteSpec, hosts: tuple[str, ...], path: Path) -> Route:
    missing: list[Problem] = []
    target = _Target(around, spec, field, missing)
    primary = target.primary()
    degrade = None if spec.degrade_service is None else target.degrade(spec.degrade_service, primary)
    return Route(
        RouteKey(*around.gateway, spec.name),
        hosts,
        path,
        primary,
        degrade,
        _watch(spec),
        None if spec.timeout is None else seconds(spec.timeout),
        spec.retries,
        spec.max_qps,
        tuple(missing),
    )


def _watch(spec: RouteSpec) -> Watch | None:
    limit = spec.limit
    if limit is None:
        return None
    query: Query
    if spec.kafka_consumer_group is not None:
        query = LagQuery(spec.kafka_cluster, spec.kafka_consumer_group, tuple(sorted(set(spec.kafka_topics))))
    else:
        query = ValueQuery(spec.prometheus_query or "")
    # Not `limit * 0.8`: 0.8 is no number of a computer's, and 80 % of 30 would be a little more than 24.
    recover = limit * 4 / 5 if spec.recover_threshold is None else spec.recover_threshold
    return Watch(query, Rule(limit, recover, spec.enter_samples, seconds(spec.min_dwell), NoCommit(spec.no_commit)))


class _Target(NamedTuple):
    """Finds the backends of a route, and tells in `missing` what can't be found."""

    around: Around
    spec: RouteSpec
    field: str
    missing: list[Problem]

    def primary(self) -> BackendKey | None:
        """Where the route leads when all is well."""
        name, wanted = self.spec.backend_service, self.spec.port
        ports = self._ports(name, "backendService")
        if ports is None:
            return None
        port = ports.only if wanted is None else ports.find(wanted)
        if port is None and wanted is not None:
            self._tell("PortNotFound", f"{self._named(name)} has no port {wanted}; it has {ports}", "port")
        elif port is None:
            self._unclear(name, ports, "backendService")
        return self._key(name, port)

    def degrade(self, name: str, primary: BackendKey | None) -> BackendKey | None:
        """Where it leads when it is degraded: the port of the route's, where that Service has it, else its only one."""
        ports = self._ports(name, "degradeService")
        if ports is None:
            return None
        wanted = self.spec.port or (primary.port if primary else 0)
        port = ports.find(wanted) or ports.only
        if port is None:
            self._unclear(name, ports, "degradeService")
        return self._key(name, port)

    def _ports(self, name: str, field: str) -> Ports | None:
        key = service_key(self.around.gateway.namespace, name)
        ports = self.around.read(self.around.surroundings.ports, key)
        if ports is None:
            self._tell("ServiceNotFound", f"there is no {self._named(name)}", field)
        elif ports.is_external:
            self._tell("ExternalName", f"{self._named(name)} is of type ExternalName, which has no endpoints", field)
            return None
        elif self.around.read(self.around.surroundings.named, key):
            message = (
                f"{self._named(name)} has endpoints of addressType FQDN: they are not served, only IP addresses are"
            )
            self._tell("AddressTypeFQDN", message, field)
        return ports

    def _unclear(self, name: str, ports: Ports, field: str) -> None:
        if ports.served:
            self._tell("PortRequired", f"{self._named(name)} has several ports; choose one with port: {ports}", field)
        else:
            self._tell("PortNotFound", f"{self._named(name)} has no port of TCP", field)

    def _named(self, name: str) -> str:
        return f"Service {self.around.gateway.namespace}/{name}"

    def _key(self, name: str, port: ServedPort | None) -> BackendKey | None:
        return None if port is None else BackendKey(self.around.gateway.namespace, name, port.number)

    def _tell(self, reason: str, message: str, field: str) -> None:
        told = f"route {self.spec.name!r}: {message}"
        self.missing.append(Problem(self.around.origin, reason, told, f"{self.field}.{field}"))
