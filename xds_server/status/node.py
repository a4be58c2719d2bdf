"""Reports on nodes: what the admin API shows of one stream. Times are POSIX seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xds_server.ir.origin import Origin
from xds_server.status.config import TypeView
from xds_server.wire.csds import Client


@dataclass(frozen=True, slots=True)
class Sent:
    """A response that was sent."""

    version: str
    nonce: str
    at: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """A version that the node has accepted."""

    version: str
    at: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A response that the node refused, in its own words; `culprit` names the declared objects under suspicion."""

    version: str
    nonce: str
    at: float
    code: int
    message: str
    culprit: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeReport:
    """One type on one stream. `waits_for` is the key of the type whose answer the sequencer awaits."""

    wildcard: bool
    names: int
    sent: Sent | None
    acked: Accepted | None
    nacked: Refused | None
    pending: bool
    waits_for: str | None
    waits_since: float
    timeouts: int


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One stream of one node; `types` by short key or type URL; `since` when it connected.

    `identity` is what the caller has proved to be, "" when it was not asked.
    """

    id: str
    group: str
    cluster: str
    address: str
    protocol: str
    build: str
    connected: bool
    since: float
    types: Mapping[str, TypeReport]
    identity: str = ""


class LiveNode(Protocol):
    """A stream that is up, as the tracker sees it."""

    @property
    def id(self) -> str:
        """The node's id."""

    @property
    def group(self) -> str:
        """The node's group."""

    @property
    def protocol(self) -> str:
        """`sotw` or `delta`."""

    @property
    def is_envoy(self) -> bool:
        """Whether it says that it is Envoy."""

    def in_sync(self) -> bool:
        """Whether it has accepted all that its group's snapshot has for it."""

    def refusing(self) -> bool:
        """Whether it refuses something that its group's snapshot has for it."""

    def client(self) -> Client:
        """Who it is, as CSDS tells it."""

    def config(self) -> Sequence[TypeView]:
        """What it was sent, has accepted and refuses, by type."""

    def report(self) -> NodeReport:
        """All about it."""
