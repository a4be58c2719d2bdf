"""Routes of Envoy: their order, and what of a route's fields becomes of them."""

from __future__ import annotations

from tests.support.gateways import backend, derived, gateway, route
from xds_server.ir.gateway import PathKind


def test_the_order_of_routes_is_that_of_their_paths() -> None:
    given = [
        route("root", "/"),
        route("short", "/a"),
        route("long", "/a/b/"),
        route("whole", "/a/b/c", kind=PathKind.EXACT),
        route("expression", "/a/.*", kind=PathKind.REGEX),
        route("longer-expression", "/a/b/.*", kind=PathKind.REGEX),
    ]
    wanted = ["whole", "longer-expression", "expression", "long", "short", "root"]
    made, reverse = (
        derived(gateway(*routes)).message("rds", "http-8080").virtual_hosts[0].routes for routes in (given, given[::-1])
    )
    assert [each.name.rpartition("/")[2] for each in made] == wanted
    assert list(made) == list(reverse)
    assert made[3].match.path_separated_prefix == "/a/b"
    assert made[5].match.prefix == "/"


def test_timeouts_and_retries() -> None:
    plain = route("plain", "/plain")
    tuned = route("tuned", "/tuned", timeout=2.25, retries=3)
    endless = route("endless", "/endless", timeout=0.0)
    web = gateway(plain, tuned, endless)
    made = derived(web, backend("orders", "10.0.0.1")).message("rds", "http-8080").virtual_hosts[0].routes
    by_name = {each.name.rpartition("/")[2]: each.route for each in made}
    assert not by_name["plain"].HasField("timeout")
    assert not by_name["plain"].HasField("retry_policy")
    assert by_name["endless"].HasField("timeout")
    assert by_name["endless"].timeout.ToMilliseconds() == 0
    assert by_name["tuned"].timeout.ToMilliseconds() == 2250
    assert by_name["tuned"].retry_policy.num_retries.value == 3
