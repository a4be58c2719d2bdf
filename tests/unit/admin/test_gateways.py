"""`/v1/gateways…`, `/v1/observers` and the observations of `/v1/explain`."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.admin.client import Client
from tests.unit.admin.documents import route
from tests.unit.admin.world import GATEWAY_ORIGIN, NOW, NOW_TEXT, World, resource, typeset
from xds_server.snapshot.snapshot import Snapshot
from xds_server.wire.types import ROUTE


async def test_a_route_tells_where_it_leads_and_why(client: Client) -> None:
    (gateway,) = (await client.get("/v1/gateways"))["gateways"]
    assert [gateway[key] for key in ("namespace", "name", "group", "generation")] == ["shop", "edge", "default", 3]
    assert gateway["routes"][0] == {
        "name": "orders",
        "decision": "degraded",
        "reason": "over-threshold",
        "since": NOW_TEXT,
        "lag": 1500,
        "threshold": 1000,
        "backend": "shop/orders-lite:80",
        "unknown": None,
        "last_lag": 1500,
        "age_s": 2.0,
        "recover": 800,
        "watches": "kafka:default/orders",
        "state": "ok",
        "verdict": "over",
        "max_qps": 200,
        "share": 0.25,
        "served": True,
        "held": False,
    }


async def test_an_unknown_lag_is_null_never_zero(client: Client) -> None:
    (gateway,) = (await client.get("/v1/gateways"))["gateways"]
    mail = gateway["routes"][1]
    assert (mail["lag"], mail["unknown"], mail["last_lag"], mail["age_s"]) == (None, "no broker answers", 7, 60.0)
    assert gateway["status"]["kafkaLag"] == {"orders": 1500, "mail": None}


async def test_a_route_that_watches_nothing(client: Client) -> None:
    (gateway,) = (await client.get("/v1/gateways"))["gateways"]
    plain = gateway["routes"][2]
    assert (plain["decision"], plain["backend"]) == ("rejected", None)
    assert all(
        plain[key] is None
        for key in ("lag", "threshold", "unknown", "last_lag", "age_s", "watches", "state", "max_qps", "share")
    )


async def test_the_status_has_kubernetes_shape(client: Client) -> None:
    (gateway,) = (await client.get("/v1/gateways/shop/edge"))["gateways"]
    status = gateway["status"]
    assert {key: status[key] for key in status if key not in ("conditions", "kafkaLag")} == {
        "observedGeneration": 3,
        "phase": "Failed",
        "lastAppliedHash": "f00d",
        "lastAckedVersion": None,
        "lastError": "spec.routes[2].backendService: there is no Service shop/gone",
    }
    conditions = {each["type"]: each for each in status["conditions"]}
    assert list(conditions) == ["Accepted", "Resolved", "Degraded", "Programmed", "Ready"]
    assert [each["status"] for each in conditions.values()] == ["True", "False", "Unknown", "False", "False"]
    assert conditions["Resolved"] == {
        "type": "Resolved",
        "status": "False",
        "reason": "ServiceNotFound",
        "message": "spec.routes[2].backendService: there is no Service shop/gone",
        "observedGeneration": 3,
        "lastTransitionTime": NOW_TEXT,
    }
    assert "no such thing" in conditions["Programmed"]["message"], "in the words of the node that refuses"


async def test_one_gateway_is_a_list_of_one(client: Client) -> None:
    assert await client.get("/v1/gateways/shop/edge") == await client.get("/v1/gateways")


async def test_a_gateway_that_is_not_there(client: Client) -> None:
    problem = await client.problem("/v1/gateways/shop/nobody", 404)
    assert problem["detail"] == "there is no gateway 'shop/nobody'"


async def test_observers(client: Client) -> None:
    known, unknown = sorted((await client.get("/v1/observers"))["observers"], key=lambda each: each["value"] is None)
    assert known == {
        "name": "kafka",
        "key": "default/orders",
        "value": 1500,
        "unknown": None,
        "sampled": "2023-11-14T22:13:18.250Z",
        "age_s": 2.0,
        "state": "ok",
        "breaker": "closed",
        "routes": 1,
        "detail": "",
    }
    assert (unknown["key"], unknown["value"], unknown["unknown"]) == ("default/mail/in", None, "no broker answers")
    assert (unknown["state"], unknown["breaker"], unknown["age_s"]) == ("timeout", "open", 60.0)


async def test_what_was_never_sampled_has_no_time(world: World, client: Client) -> None:
    world.observations = [replace(world.observations[1], sampled=0.0)]
    (found,) = (await client.get("/v1/observers"))["observers"]
    assert (found["sampled"], found["age_s"]) == (None, None)


async def test_explain_tells_what_was_observed(world: World, client: Client) -> None:
    made = resource(route("http-8080", "one"), GATEWAY_ORIGIN)
    group = world.groups.obtain("default")
    group.publish(Snapshot("default", 3, NOW, {**world.second.types, ROUTE: typeset(made)}))
    answer = await client.get("/v1/explain?group=default&type=rds&name=http-8080")
    assert [each["kind"] for each in answer["objects"]] == ["DynamicGateway"]
    assert answer["observations"] == [
        {"observer": "kafka", "key": "default/orders", "value": 1500, "at": "2023-11-14T22:13:18.250Z"},
        {"observer": "kafka", "key": "default/mail/in", "value": 7, "at": "2023-11-14T22:12:20.250Z"},
    ]
