"""From gateways, backends and facts to Envoy's resources, and to what is to be told of them. Pure."""

from __future__ import annotations

from dataclasses import replace

from xds_server.derive.collection import Read
from xds_server.derive.engine import Engine
from xds_server.derive.facts import Facts
from xds_server.derive.model import Model
from xds_server.ir.facts import RouteKey, Watch
from xds_server.translate.derived import Derived
from xds_server.translate.gateway import resources
from xds_server.translate.gateway.claims import claims_of
from xds_server.translate.gateway.decided import Served, decided_of
from xds_server.translate.gateway.endpoints import read_back
from xds_server.translate.gateway.frozen import gateways_as_frozen
from xds_server.translate.gateway.reports import reports_of
from xds_server.translate.gateway.virtual_hosts import fleet_of

__all__ = ["derive_gateways", "fleet_of", "read_back"]


def derive_gateways(engine: Engine, model: Model, facts: Facts) -> Derived:
    """Make the collections of all that comes of gateways, on an engine that has those of the model and the facts."""
    model = replace(model, gateways=gateways_as_frozen(engine, model.gateways, facts))
    claims = claims_of(engine, model.gateways)
    decided = decided_of(engine, model, facts, claims)
    work = resources.Work(engine, model, facts, claims, decided)
    parts = resources.route_parts(work)
    every = engine.union(
        "resources",
        resources.secrets(work),
        *resources.backends(work),
        resources.route_configurations(work, parts),
        resources.listeners(work),
    )
    watches = engine.each("watches", decided.served, _watch)
    lingering = resources.lingering(work)
    return Derived(every, reports_of(work, parts), watches, decided.decisions, model.gateways, lingering)


def _watch(_: Read, __: RouteKey, served: Served) -> Watch | None:
    return served.route.watch
