"""Who keeps what two gateways claim, what is told, and that all else goes on."""

from __future__ import annotations

from dataclasses import replace

from tests.support.gateways import (
    HTTP,
    Derivation,
    backend,
    certificate,
    derived,
    gateway,
    https,
    origin,
    reasons,
    route,
    watch,
)
from xds_server.ir.decision import Choice
from xds_server.ir.gateway import Listener, Protocol
from xds_server.ir.problem import Problem

OLD = gateway(route("orders", hosts=("a.com", "b.com")), created="2025-01-01")


def domains(found: Derivation, name: str = "http-8080") -> dict[str, list[str]]:
    """The routes of each virtual host."""
    return {each.name: [entry.name for entry in each.routes] for each in found.message("rds", name).virtual_hosts}


def test_a_host_belongs_to_the_senior_gateway() -> None:
    routes = (
        route("both", gateway="late", hosts=("b.com", "c.com")),
        route("lost", "/lost", gateway="late", hosts=("b.com",)),
    )
    late = gateway(*routes, name="late", created="2025-06-01")
    found = derived(late, OLD, backend("orders", "10.0.0.1"))
    assert domains(found) == {
        "a.com": ["shop/web/orders"],
        "b.com": ["shop/web/orders"],
        "c.com": ["shop/late/both"],
    }
    report = found.report("late")
    assert reasons(report.invalid) == ["HostConflict"]
    assert str(report.invalid[0]) == (
        "late.yaml:1 (document 1): spec.routes: host 'b.com' on http-8080 is kept by DynamicGateway shop/web (web.yaml:1);"
        " not served for it: both, lost"
    )
    assert [each.key.route for each in report.routes] == ["both"]
    assert not found.report().invalid
    found.update(found.gateways.edit({OLD.key: None}))
    assert domains(found)["b.com"] == ["shop/late/lost", "shop/late/both"]
    assert not found.report("late").invalid


def test_without_a_file_the_one_that_keeps_a_host_is_named_once() -> None:
    """As a gateway from a cluster, which has no file: its place would be its name again."""
    late = gateway(route("lost", gateway="late", hosts=("b.com",)), name="late", created="2025-06-01")
    old = replace(OLD, origin=replace(OLD.origin, path="", document=0, line=0))
    (problem,) = derived(late, old, backend("orders", "10.0.0.1")).report("late").invalid
    assert problem.message == "host 'b.com' on http-8080 is kept by DynamicGateway shop/web; not served for it: lost"


def test_a_port_belongs_to_the_senior_gateway_and_its_protocol() -> None:
    secure = Listener("secure", "0.0.0.0", 8080, Protocol.HTTPS, https().secret)
    other = Listener("other", "0.0.0.0", 9090)
    late = gateway(route("x", gateway="late"), name="late", created="2026-02-01", listeners=(secure, other))
    found = derived(late, OLD, certificate())
    assert found.names("lds") == ["http-8080", "http-9090"]
    report = found.report("late")
    assert reasons(report.invalid) == ["PortConflict"]
    assert "listener 'secure' is not served: port 8080 is taken by DynamicGateway shop/web" in report.invalid[0].message
    assert domains(found, "http-9090") == {"*": ["shop/late/x"]}
    assert found.names("sds") == []


def test_on_port_0_everybody_has_an_own_port() -> None:
    free = Listener("http", "127.0.0.1", 0)
    late = gateway(route("x", gateway="late"), name="late", listeners=(free,))
    found = derived(late, gateway(route("orders"), listeners=(free,)))
    assert found.names("lds") == ["http-shop-late-http", "http-shop-web-http"]
    assert not found.report("late").invalid


def test_what_is_missing_is_told_and_the_rest_served() -> None:
    why = Problem(origin("DynamicGateway", "web"), "PortNotFound", "…", "spec.routes[0].port")
    web = gateway(
        route("orders", primary=None, missing=(why,)),
        route("carts", "/carts", primary="carts", degrade="nowhere"),
        listeners=(HTTP, https()),
    )
    found = derived(web, backend("carts", "10.0.0.1"))
    report = found.report()
    assert reasons(report.unresolved) == ["PortNotFound", "SecretNotFound"]
    assert [each.decision.choice for each in report.routes] == [Choice.REJECTED, Choice.PRIMARY]
    assert found.names("lds") == ["http-8080"]
    assert all(each.is_open for each in report.routes), "on the other listener"


def test_a_route_is_open_where_a_listener_takes_connections_for_it() -> None:
    found = derived(gateway(route("orders"), listeners=(https(),)), backend("orders", "10.0.0.1"))
    assert [each.is_open for each in found.report().routes] == [False]
    found.put(certificate())
    assert [each.is_open for each in found.report().routes] == [True]
    found.put(gateway(route("all"), name="first", created="2025", listeners=(https(),)))
    found.put(gateway(route("orders"), listeners=(https(), https("lost", port=9443))))
    assert [each.is_open for each in found.report().routes] == [False], "its host is another's on the one that is open"


def test_a_gateway_that_could_not_be_read_has_a_report() -> None:
    why = Problem(origin("DynamicGateway", "web"), "WrongType", "…", "spec.routes")
    found = derived(gateway(listeners=(), problems=(why,)))
    assert found.report().invalid == (why,)
    assert found.report().routes == ()
    assert not found.ends.resources.values


def test_watches_are_those_of_served_routes() -> None:
    watched = route("orders", gateway="late", hosts=("a.com",), watch=watch())
    found = derived(gateway(watched, name="late"))
    assert dict(found.ends.watches.values) == {watched.key: watch()}
    found.put(OLD)
    assert not found.ends.watches.values
    assert not found.report("late").routes


def test_applied_follows_what_is_served() -> None:
    found = derived(OLD, backend("orders", "10.0.0.1"))
    first = found.report().applied
    found.put(backend("orders", "10.0.0.2"))
    assert found.report().applied == first
    found.put(backend("orders"))
    assert found.report().applied != first
    found.put(backend("orders", "10.0.0.1"))
    assert found.report().applied == first
