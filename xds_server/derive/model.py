"""The model as collections: what sources' objects say, by identity, without what decides anything."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.derive.collection import Collection
from xds_server.ir.backend import Backend, BackendKey
from xds_server.ir.gateway import Certificate, Gateway, GatewayKey, SecretKey


@dataclass(frozen=True, slots=True)
class Model:
    """Gateways and what they lead to. A backend is there as long as its service has that port, healthy or not."""

    gateways: Collection[GatewayKey, Gateway]
    backends: Collection[BackendKey, Backend]
    certificates: Collection[SecretKey, Certificate]
