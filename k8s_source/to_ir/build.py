"""Makes the model's collections of what sources declare."""

from __future__ import annotations

from collections.abc import Iterator

from k8s_source.to_ir.backends import backends_of
from k8s_source.to_ir.concerns import concerns_of
from k8s_source.to_ir.gateways import Surroundings, make_gateway
from k8s_source.to_ir.secrets import certificates_of
from k8s_source.to_ir.services import make_ports, make_service
from k8s_source.to_ir.slices import Slice, make_slice
from xds_server.derive.collection import Collection, Read
from xds_server.derive.engine import Engine
from xds_server.derive.model import Model
from xds_server.ir.gateway import Gateway, GatewayKey
from xds_server.ir.objects import ObjectKey, Standing


def build(engine: Engine, standings: Collection[ObjectKey, Standing]) -> Model:
    """The model as derived collections of what stands under each identity.

    Backends are those that gateways lead to, certificates those that their listeners name. A gateway that was never
    right is there too, with what is wrong with it, and serves nothing.
    """
    services = engine.each("services", standings, make_service)
    ports = engine.each("ports of services", services, make_ports)
    slices = engine.each("endpoint slices", standings, make_slice)
    by_service = engine.index("endpoint slices by service", slices, lambda _, value: (value.service,))
    named = engine.index("domain names by service", slices, _of_domain_names)
    surroundings = Surroundings(ports, named)

    def make(read: Read, key: ObjectKey, standing: Standing) -> dict[GatewayKey, Gateway]:
        gateway = make_gateway(read, surroundings, key, standing)
        return {} if gateway is None else {gateway.key: gateway}

    gateways: Collection[GatewayKey, Gateway] = engine.many("gateways", standings, make)
    backends = backends_of(engine, gateways, services, slices, by_service)
    concerns = concerns_of(engine, gateways, standings, slices)
    return Model(gateways, backends, certificates_of(engine, gateways, standings), concerns)


def _of_domain_names(_: ObjectKey, value: Slice) -> Iterator[ObjectKey]:
    if value.is_of_names:
        yield value.service
