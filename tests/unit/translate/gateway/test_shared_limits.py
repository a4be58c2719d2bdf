"""Limits that a fleet shares, in what is derived: where they stand, whom they follow, and what stays as it is."""

from __future__ import annotations

import pytest
from envoy.extensions.filters.http.local_ratelimit.v3.local_rate_limit_pb2 import LocalRateLimit

from tests.support.gateways import HTTP, Derivation, backend, derived, gateway, route
from xds_server.ir.decision import Choice, Decision
from xds_server.ir.gateway import Listener
from xds_server.ir.switches import Frozen
from xds_server.translate.gateway.filters import local_ratelimit
from xds_server.wire.types import ROUTE

LIMITED = route("orders", max_qps=100.0, hosts=("a.example", "b.example"))
FREE = route("free", "/free")


def rates(found: Derivation, name: str = "http-8080") -> dict[str, float]:
    """What one Envoy lets through on a listener, in requests a second, by route."""
    message = found.message("rds", name)
    if local_ratelimit.NAME not in message.typed_per_filter_config:
        return {}
    limits = LocalRateLimit.FromString(message.typed_per_filter_config[local_ratelimit.NAME].value)
    return {
        each.entries[0].value: each.token_bucket.tokens_per_fill.value
        * 1000
        / each.token_bucket.fill_interval.ToMilliseconds()
        for each in limits.descriptors
    }


def shop(*listeners: Listener) -> Derivation:
    return derived(gateway(LIMITED, FREE, listeners=listeners or (HTTP,)), backend("orders", "10.0.0.1"))


def test_all_hosts_of_a_route_have_one_limit_and_a_route_without_one_has_none() -> None:
    assert rates(shop()) == {"shop/web/orders": 100}


@pytest.mark.parametrize(("fleet", "rate"), [(1, 100), (2, 50), (4, 25), (5, 20)])
def test_each_envoy_has_its_part(fleet: int, rate: float) -> None:
    found = shop()
    found.update(found.facts.fleets.edit({"default": fleet, "other": 9}))
    assert rates(found) == {"shop/web/orders": pytest.approx(rate, rel=0.004)}
    (report,) = found.ends.reports.values.values()
    assert [(each.max_qps, each.share) for each in report.routes] == [(100, 1 / fleet), (None, None)]


def test_each_listener_has_its_part_of_that() -> None:
    found = shop(HTTP, Listener("more", "0.0.0.0", 8081))
    assert rates(found) == rates(found, "http-8081") == {"shop/web/orders": 50}


def test_a_fleet_that_grows_changes_route_configurations_with_limits_only() -> None:
    free = gateway(route("else", "/", gateway="free"), name="free", listeners=(Listener("http", "0.0.0.0", 9090),))
    found = shop()
    found.put(free)
    changed = found.update(found.facts.fleets.edit({"default": 2})).of(found.ends.resources)
    assert list(changed) == [("default", ROUTE, "http-8080")]


def test_the_limit_of_a_frozen_route_follows_the_fleet() -> None:
    found = shop()
    decision = Decision(Choice.PRIMARY, LIMITED.primary, "healthy")
    found.update(found.facts.frozen.edit({LIMITED.key: Frozen(LIMITED, decision)}))
    found.put(gateway(route("orders", max_qps=7.0)))
    assert rates(found) == {"shop/web/orders": 100}
    found.update(found.facts.fleets.edit({"default": 2}))
    assert rates(found) == {"shop/web/orders": 50}


def test_a_route_that_leads_nowhere_has_no_limit() -> None:
    assert rates(derived(gateway(LIMITED))) == {}
