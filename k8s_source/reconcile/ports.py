"""What reconcilers ask of the rest of Tidegate; the composition root adapts its parts to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import GatewayState
from xds_server.ir.writes import Write


class GatewayStates(Protocol):
    """What is known of gateways: of their decisions, and of the Envoys of all replicas. All calls belong on the loop."""

    def get(self, key: GatewayKey) -> GatewayState | None:
        """A gateway as it is now; None for one that derivation does not know (yet, or any more)."""

    def is_deprogrammed(self, key: GatewayKey) -> bool:
        """Whether no Envoy, here or at another replica, holds anything of a gateway that is gone."""

    def follow(self, told: Callable[[Iterable[GatewayKey]], None]) -> None:
        """Have a function told of the gateways about which something may have changed; it must be quick."""


class Notes(Protocol):
    """Takes down what is written."""

    def wrote(self, write: Write) -> None:
        """The API server has taken this."""


class Leadership(Protocol):
    """Who may write."""

    def is_leader(self) -> bool:
        """Whether this process may write at this moment."""
