"""What reconcilers ask of the rest of Tidegate; the composition root, or the operator, adapts its parts to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from k8s_source.informer.item import Item
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile.happenings import Happening
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import GatewayState
from xds_server.ir.writes import Write


class GatewayStates(Protocol):
    """What is known of gateways: of their decisions, and of the Envoys of all replicas. All calls belong on the loop."""

    def get(self, key: GatewayKey) -> GatewayState | None:
        """A gateway as it is now; None for one that derivation does not know (yet, or any more)."""

    def is_deprogrammed(self, key: GatewayKey) -> bool:
        """Whether no Envoy, here or at another replica, holds anything of a gateway that is gone."""

    def follow(self, told: Callable[[GatewayKey, bool], None]) -> None:
        """Have a function told of each gateway of which something has changed, and whether that is more than numbers.

        It must be quick.
        """


class Notes(Protocol):
    """Takes down what is written."""

    def wrote(self, write: Write) -> None:
        """The API server has taken this."""


class Leadership(Protocol):
    """Who may write."""

    @property
    def identity(self) -> str:
        """This replica, as the others know it."""

    def is_leader(self) -> bool:
        """Whether this process may write at this moment."""

    def remaining(self) -> float:
        """For how many seconds it may for certain: a write that takes longer is cut off."""


class Teller(Protocol):
    """Makes Events."""

    def tell(self, item: Item[Stated], happening: Happening) -> None:
        """Have an Event made about an object; it comes a little later, or never if the API server has no room for it."""
