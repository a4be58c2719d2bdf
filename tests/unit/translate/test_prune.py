"""Taking missing clusters out of route configurations."""

from __future__ import annotations

from typing import Any

from tests.unit.translate.documents import ORIGIN, any_of, made, routes, to
from xds_server.translate.prune import prune_routes
from xds_server.translate.render import to_json
from xds_server.wire.resource import Resource


def pruned(resource: Resource, *missing: str) -> tuple[Any, list[str]]:
    """The JSON of what is left, None when nothing is, and the notes."""
    left, notes = prune_routes(resource, frozenset(missing))
    if left is None:
        return None, notes
    assert left.name == resource.name
    assert left.origins == (ORIGIN,)
    assert not left.refs.clusters & set(missing)
    return to_json(left), notes


def actions(js: Any) -> list[Any]:
    return [{key: each[key] for key in each if key != "match"} for each in js["virtual_hosts"][0]["routes"]]


def answers_503(cluster: str) -> dict[str, object]:
    return {"direct_response": {"status": 503, "body": {"inline_string": f"no-cluster: {cluster}"}}}


def test_nothing_missing_changes_nothing() -> None:
    resource = routes(to("a"))
    assert prune_routes(resource, {"b"}) == (resource, [])


def test_a_route_to_a_missing_cluster_answers_503() -> None:
    js, notes = pruned(routes({"name": "first", **to("gone")}, to("there")), "gone")
    assert actions(js) == [{"name": "first", **answers_503("gone")}, to("there")]
    assert js["virtual_hosts"][0]["routes"][0]["match"] == {"prefix": "/"}
    assert notes == ["virtual host v, route 0 (first): cluster gone is missing, the route answers 503"]


def test_weights_go_to_the_others_while_one_has_a_weight() -> None:
    def weighted(**weights: int) -> dict[str, object]:
        clusters = [{"name": name, "weight": weight} for name, weight in weights.items()]
        return {"route": {"weighted_clusters": {"clusters": clusters, "total_weight": sum(weights.values())}}}

    js, notes = pruned(
        routes(weighted(gone=1, a=2, b=0), weighted(gone=1, a=0), weighted(gone=3, lost=1)), "gone", "lost"
    )
    assert actions(js) == [
        {"route": {"weighted_clusters": {"clusters": [{"name": "a", "weight": 2}, {"name": "b", "weight": 0}]}}},
        answers_503("gone"),
        answers_503("gone, lost"),
    ]
    assert notes[0] == "virtual host v, route 0: cluster gone is missing, its share goes to the others"


def test_mirrors_to_missing_clusters_stop() -> None:
    mirrors = {"request_mirror_policies": [{"cluster": "gone"}, {"cluster": "b"}, {"cluster_header": "x-m"}]}
    js, notes = pruned(routes({"route": {"cluster": "a", **mirrors}}, **mirrors), "gone")
    assert actions(js)[0]["route"]["request_mirror_policies"] == [{"cluster": "b"}, {"cluster_header": "x-m"}]
    assert js["request_mirror_policies"] == [{"cluster": "b"}, {"cluster_header": "x-m"}]
    assert len(notes) == 2


def test_none_when_no_route_is_left() -> None:
    js, notes = pruned(routes(to("gone"), to("lost")), "gone", "lost")
    assert js is None
    assert len(notes) == 2


def test_a_redirect_is_a_route_that_is_left() -> None:
    js, _ = pruned(routes(to("gone"), {"redirect": {"host_redirect": "h"}}), "gone")
    assert actions(js)[1] == {"redirect": {"host_redirect": "h"}}


def test_routes_inside_a_matcher() -> None:
    def matched(cluster: str) -> dict[str, object]:
        route = any_of("envoy.config.route.v3.Route", match={"prefix": "/"}, **to(cluster))
        return {"action": {"name": "route", "typed_config": route}}

    tree = {"input": {"name": "i"}, "exact_match_map": {"map": {"x": matched("gone")}}}
    host = {"name": "v", "domains": ["*"], "matcher": {"matcher_tree": tree, "on_no_match": matched("a")}}
    js, notes = pruned(made("envoy.config.route.v3.RouteConfiguration", name="r", virtual_hosts=[host]), "gone")
    matcher = js["virtual_hosts"][0]["matcher"]
    found = matcher["matcher_tree"]["exact_match_map"]["map"]["x"]["action"]["typed_config"]
    assert found["direct_response"] == answers_503("gone")["direct_response"]
    assert matcher["on_no_match"]["action"]["typed_config"]["route"] == {"cluster": "a"}
    assert notes == ["virtual host v, matcher: cluster gone is missing, the route answers 503"]
