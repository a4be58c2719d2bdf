"""Routes that are frozen, in what is derived: what stays, what goes on, and what of it is told."""

from __future__ import annotations

from dataclasses import replace

from tests.support.gateways import Derivation, backend, contents, derived, gateway, route, watch
from xds_server.ir.decision import Choice
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.switches import Frozen, Value

KEY = RouteKey("shop", "web", "orders")
ORDERS = route("orders", "/orders", degrade="lite", watch=watch())
OTHER = route("other", "/other", primary="lite")
BACKENDS = (backend("orders", "10.0.0.1"), backend("lite", "10.0.0.2"), backend("third", "10.0.0.3"))


def world() -> Derivation:
    return derived(gateway(ORDERS, OTHER), *BACKENDS)


def freeze(made: Derivation) -> None:
    made.update(made.facts.frozen.edit({KEY: Frozen(ORDERS, made.decision("orders"))}))


def over(made: Derivation) -> None:
    made.update(made.facts.verdicts.edit({KEY: Verdict.OVER}))


def test_a_freeze_alone_changes_nothing_but_the_reason() -> None:
    made, plain = world(), world()
    freeze(made)
    assert made.decision("orders").reason == "frozen"
    assert made.report().held == ()
    assert contents(made.ends.resources).keys() == contents(plain.ends.resources).keys()
    for key in ("cds", "eds", "lds"):
        for name in plain.names(key):
            assert made.resource(key, name).version == plain.resource(key, name).version


def test_neither_lag_nor_force_nor_a_backend_that_goes_moves_a_frozen_decision() -> None:
    made = world()
    freeze(made)
    over(made)
    made.update(made.facts.modes.edit({"*": Value.FORCED}))
    made.put(backend("orders"))
    assert (made.decision("orders").choice, made.decision("orders").reason) == (Choice.PRIMARY, "frozen")
    made.backends_gone("orders", "lite")
    assert made.decision("orders").choice is Choice.PRIMARY
    assert "shop/orders/80" in made.names("cds"), "what it leads to stays"


def test_what_is_declared_otherwise_is_not_served_and_told_while_the_rest_goes_on() -> None:
    made = world()
    freeze(made)
    made.put(gateway(replace(ORDERS, retries=3, primary=OTHER.primary), replace(OTHER, retries=2)))
    assert made.report().held == ("orders",)
    served = {each.name: each for host in made.message("rds", "http-8080").virtual_hosts for each in host.routes}
    assert served["shop/web/orders"].route.cluster == "shop/orders/80"
    assert served["shop/web/orders"].route.retry_policy.num_retries.value == 0
    assert served["shop/web/other"].route.retry_policy.num_retries.value == 2


def test_another_watch_alone_is_nothing_that_is_held_back() -> None:
    made = world()
    freeze(made)
    made.put(gateway(replace(ORDERS, watch=watch(threshold=7)), OTHER))
    assert made.report().held == ()
    assert made.ends.watches.values[KEY] == watch(threshold=7)


def test_a_route_that_is_declared_no_more_stays_until_it_is_released() -> None:
    made = world()
    freeze(made)
    made.put(gateway(OTHER))
    assert made.report().held == ("orders",)
    assert made.decision("orders").choice is Choice.PRIMARY
    made.update(made.facts.frozen.edit({KEY: None}))
    assert KEY not in made.ends.decisions.values
    made_plain = derived(gateway(OTHER), *BACKENDS)
    assert contents(made.ends.resources) == contents(made_plain.ends.resources)


def test_a_release_is_as_if_it_had_never_been_frozen() -> None:
    made, plain = world(), world()
    freeze(made)
    for each in (made, plain):
        over(each)
        each.put(gateway(replace(ORDERS, retries=1), OTHER))
    made.update(made.facts.frozen.edit({KEY: None}))
    assert contents(made.ends.resources) == contents(plain.ends.resources)
    assert made.decision("orders") == plain.decision("orders")


def test_what_is_said_of_one_route_goes_before_what_is_said_of_all() -> None:
    made = world()
    made.update(made.facts.modes.edit({"*": Value.FORCED}))
    assert made.decision("orders").reason == "forced"
    assert made.decision("other").reason == "healthy"
    made.update(made.facts.modes.edit({str(KEY): Value.AUTO}))
    assert made.decision("orders").reason == "healthy"
    over(made)
    made.update(made.facts.modes.edit({str(KEY): Value.OFF}))
    assert made.decision("orders").reason == "degradation-off"
