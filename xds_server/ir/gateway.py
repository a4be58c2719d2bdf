"""Gateways: what people declare that traffic should do, with every reference by identity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from xds_server.ir.backend import BackendKey
from xds_server.ir.facts import RouteKey, Watch
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem


class GatewayKey(NamedTuple):
    """A gateway by identity."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.namespace}/{self.name}"


class SecretKey(NamedTuple):
    """A secret by identity."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """A TLS certificate with its key, PEM; never shown."""

    key: SecretKey
    chain: str
    private_key: str
    origin: Origin

    def __repr__(self) -> str:
        """The identity only."""
        return f"Certificate({self.key})"


class PathKind(StrEnum):
    """How a path is matched: whole, by segments from the start, or whole by a regular expression (RE2)."""

    EXACT = "Exact"
    PREFIX = "Prefix"
    REGEX = "Regex"


class Path(NamedTuple):
    """A path to match."""

    kind: PathKind
    value: str


@dataclass(frozen=True, slots=True)
class Route:
    """A route: what it matches, where it leads when all is well and when it is degraded, and what decides.

    `hosts` are lower-case domains, `*` (all) where none is named. `primary` and `degrade` are None where the service, or
    its port, can't be told; `missing` then says which and why. `timeout` is in seconds, `max_qps` in requests a second.
    """

    key: RouteKey
    hosts: tuple[str, ...]
    path: Path
    primary: BackendKey | None
    degrade: BackendKey | None = None
    watch: Watch | None = None
    timeout: float | None = None
    retries: int = 0
    max_qps: float | None = None
    missing: tuple[Problem, ...] = ()


class Protocol(StrEnum):
    """What a listener speaks with clients."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a gateway takes requests; a port of 0 has each Envoy take a free one. `secret` is that of HTTPS."""

    name: str
    address: str
    port: int
    protocol: Protocol = Protocol.HTTP
    secret: SecretKey | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for a whole gateway; `full_resync_interval` is in seconds."""

    full_resync_interval: float = 300.0
    fail_open: bool = False
    require_envoy_ack: bool = True


@dataclass(frozen=True, slots=True)
class Gateway:
    """One DynamicGateway, as far as it is valid.

    `problems` are those of the object itself (they make it not accepted): what they concern is not in `routes` and
    `listeners`. `seniority` sorts gateways: of two that claim the same, the one that sorts first keeps it. `held` names
    the routes that are frozen at something else than what is declared.
    """

    key: GatewayKey
    group: str
    listeners: tuple[Listener, ...]
    routes: tuple[Route, ...]
    policy: Policy
    origin: Origin
    generation: int = 0
    problems: tuple[Problem, ...] = ()
    seniority: tuple[str, str, int] = ("", "", 0)
    held: tuple[str, ...] = ()
