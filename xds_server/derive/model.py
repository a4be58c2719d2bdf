"""The model as collections: what sources' objects say, by identity, without what decides anything."""

from __future__ import annotations

from dataclasses import dataclass

from xds_server.derive.collection import Collection
from xds_server.ir.backend import Backend, BackendKey
from xds_server.ir.gateway import Certificate, Gateway, GatewayKey, SecretKey
from xds_server.ir.problem import Problem


@dataclass(frozen=True, slots=True)
class Model:
    """Gateways and what they lead to. A backend is there as long as its service has that port, healthy or not.

    `concerns` has by gateway what is wrong with objects that it depends on, of which another form is in force.
    """

    gateways: Collection[GatewayKey, Gateway]
    backends: Collection[BackendKey, Backend]
    certificates: Collection[SecretKey, Certificate]
    concerns: Collection[GatewayKey, tuple[Problem, ...]]
