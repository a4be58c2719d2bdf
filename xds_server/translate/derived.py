"""What is translated of the model: collections of resources, and of what is to be told of them."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.derive.collection import Collection
from xds_server.ir.backend import BackendKey
from xds_server.ir.decision import Decision, GatewayReport
from xds_server.ir.facts import RouteKey, Watch
from xds_server.ir.gateway import Gateway, GatewayKey
from xds_server.wire.resource import Resource

ResourceKey = tuple[str, str, str]
"""(group, type URL, name)"""


@dataclass(frozen=True, slots=True)
class Derived:
    """The ends of derivation.

    A resource that is there again with equal bytes and origins should be the same one (`Engine.each(same=…)`): one that
    is another is looked at again. `watches` are of the routes that are served and want to be told of something. `gateways`
    are those of the model, with the routes that are frozen as they were. `lingering` are backends without endpoints that
    are served those which they had, until they are drained.
    """

    resources: Collection[ResourceKey, Resource]
    reports: Collection[GatewayKey, GatewayReport]
    watches: Collection[RouteKey, Watch]
    decisions: Collection[RouteKey, Decision]
    gateways: Collection[GatewayKey, Gateway]
    lingering: Collection[BackendKey, bool]
