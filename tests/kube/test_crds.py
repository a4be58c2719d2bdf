"""The CustomResourceDefinition at a real API server: it takes it, refuses what it should, and shows what people ask."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from k8s_source.crds.build import definitions
from k8s_source.kinds.conversion import V1ALPHA1
from k8s_source.kinds.decode import decode_manifest
from tests.support.kube import Kube
from tests.support.kube_client import RefusedError
from tests.support.kustomize import ROOT, typed
from tests.support.odd_gateways import VERSIONS, manifests, mixed, routes, samples, with_junk
from tests.unit.k8s_source.kinds.test_refused import LAGS, LISTENERS, OBJECTS, ROUTES
from tests.unit.k8s_source.manifests import FILE, Body, gateway, route, watching
from xds_server.ir.objects import Object

BETA = {"apiVersion": "gateway.tidegate.dev/v1beta1"}
FOR_THE_WEBHOOK = {
    # Surrogates are no JSON; the rest is of Envoy's paths and of RE2.
    "query in a path", "no letters", "no regex", "of another sort", "large regex", "empty regex",
    "half a letter", "half a letter in a regex", "no end",
}  # fmt: skip
"""Cases of which the schema takes the object, or which no client can send."""

PRUNED = {"unknown field", "field", "field of v1alpha1", "field of spec"}
"""Unknown fields: a client is warned, or refused with strict validation, and the rest is stored."""


@pytest.fixture(scope="session")
def crd(kube: Kube) -> Body:
    """The definition, installed. Without the webhook: what is judged here is the schema of each version."""
    (definition,) = definitions()
    definition = copy.deepcopy(definition)
    definition["spec"]["conversion"] = {"strategy": "None"}
    return kube.client.apply(definition)


def refusal(kube: Kube, body: Body, *, strict: bool = True) -> Any:
    """What the API server says against an object; nothing is stored."""
    path = kube.client.path(V1ALPHA1, "DynamicGateway", "default").replace(V1ALPHA1, str(body["apiVersion"]))
    validation = "Strict" if strict else "Ignore"
    try:
        kube.client.request("POST", f"{path}?dryRun=All&fieldValidation={validation}", body)
    except RefusedError as error:
        return error.status
    return None


def cases() -> list[Any]:
    found = [(name, gateway(case[0]), case[1]) for name, case in ROUTES.items()]
    found += [(name, gateway(listeners=[case[0]]), case[1]) for name, case in LISTENERS.items()]
    found += [(name, gateway(route(degradeService="b", lag=case[0])) | BETA, case[1]) for name, case in LAGS.items()]
    found += [(name, case[0], case[1]) for name, case in OBJECTS.items() if case[0].get("kind") == "DynamicGateway"]
    return [
        pytest.param(*each, id=f"{each[0]} ({i})") for i, each in enumerate(found) if each[0] not in FOR_THE_WEBHOOK
    ]


@pytest.mark.parametrize(("name", "body", "field"), cases())
def test_what_files_refuse_is_refused(kube: Kube, crd: Body, name: str, body: Body, field: str) -> None:
    status = refusal(kube, body)
    assert status is not None, f"{name} was taken"
    if field.startswith("metadata"):
        return  # Kubernetes' own business, in its own words
    causes = status.get("details", {}).get("causes", [])
    told = status["message"] + "".join(str(each.get("field", "")) for each in causes)
    leaf = field.rpartition(".")[2].partition("[")[0]
    assert leaf in told, status


GOOD: dict[str, Body] = {
    "all": gateway(
        watching(
            pathType="Regex", path="cart/.*", hosts=["*.example.com"], port="http", maxQps=0.5, kafkaTopics=["a"],
            kafkaCluster="c", noCommit="latest", enterSamples=3, recoverThreshold=99.5, minDwell="1m30s",
            timeout="0s", retries=2,
        ),
        route(name="b", path="/b", prometheusQuery="up", threshold=0.5, degradeService="b", port=80),
        listeners=[
            {"port": 0},
            {"port": 443, "protocol": "HTTPS", "tls": {"secretName": "a.b"}, "address": "::1", "name": "x"},
        ],
        policy={"fullResyncInterval": "0.5s", "failOpen": True, "requireEnvoyAck": False},
    ),
    "smallest": gateway(),
    "largest lag": gateway(watching(kafkaLagThreshold=2**63 - 1)),
    "beta": gateway(
        route(lag={"consumerGroup": "g", "threshold": 100, "recoverThreshold": 100}, degradeService="b"),
        route(name="b", lag={"prometheusQuery": "up", "threshold": 0.5}, degradeService="b", path="/b"),
        route(name="c", lag={}, path="/c"),
    )
    | BETA,
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_what_files_take_is_taken(kube: Kube, crd: Body, name: str) -> None:
    assert isinstance(decode_manifest(GOOD[name], FILE, "default"), Object)
    assert refusal(kube, GOOD[name]) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_files_and_the_schema_take_the_same(kube: Kube, crd: Body, version: str) -> None:
    taken = 0
    odd = mixed(samples(manifests(version, with_junk(routes[version])), 40), 40)
    for body in mixed(samples(manifests(version, routes[version]), 60), 60) + odd:
        body = copy.deepcopy(body) | {"metadata": {"name": "shop"}}  # noqa: PLW2901
        is_good = isinstance(decode_manifest(body, FILE, "default"), Object)
        told = refusal(kube, body)
        if told is None or "Duplicate value" not in told["message"]:
            assert is_good is (told is None), (body, told)
        taken += is_good
    assert taken > 50


def test_two_routes_of_one_name_are_refused(kube: Kube, crd: Body) -> None:
    status = refusal(kube, gateway(route(), route(path="/b")))
    assert status is not None
    assert "Duplicate value" in status["message"]


def test_a_thousand_routes_are_taken_and_judged(kube: Kube, crd: Body) -> None:
    many = [watching(name=f"r{i}", path=f"/{i}") for i in range(1024)]
    assert refusal(kube, gateway(*many)) is None
    many[1023].pop("degradeService")
    status = refusal(kube, gateway(*many))
    assert status is not None
    assert "degradeService is needed with a threshold" in status["message"]


def test_columns(kube: Kube, crd: Body, namespace: str) -> None:
    body = gateway(route(), metadata={"namespace": namespace})
    kube.client.apply(body)
    at = "2026-11-30T12:00:00Z"
    told = {"reason": "R", "message": "m", "lastTransitionTime": at, "observedGeneration": 1}
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Degraded", "status": "False"}]
    status = {
        "observedGeneration": 1,
        "phase": "Ready",
        "envoys": "3/3",
        "conditions": [each | told for each in conditions],
        "lastAppliedHash": "h",
        "kafkaLag": {"g": None, "h": 5, "i": 0.5},
        "lastAckedVersion": None,
        "lastError": None,
        "routes": [{"name": "cart", "decision": "primary", "reason": "AsDeclared", "since": at}],
    }
    kept = kube.client.apply({**body, "status": status}, subresource="status")
    assert kept["status"] == status, "the schema prunes what the operator writes"
    path = kube.client.path(V1ALPHA1, "DynamicGateway", namespace)
    columns, cells = table(kube, path)
    assert columns == ["Name", "Ready", "Envoys", "Degraded", "Age"]
    assert cells[:4] == ["shop", "True", "3/3", "False"]


def table(kube: Kube, path: str) -> tuple[list[str], list[Any]]:
    """What `kubectl get` shows: the columns, and the cells of the first object."""
    found = kube.client.table(path)
    shown = [i for i, each in enumerate(found["columnDefinitions"]) if each["priority"] == 0]
    names = [found["columnDefinitions"][i]["name"] for i in shown]
    return names, [found["rows"][0]["cells"][i] for i in shown]


def test_the_commands_of_the_page(kube: Kube, crd: Body) -> None:
    """As written, but as dry runs: other tests have a definition without the webhook."""
    lines = (ROOT / "docs/kubernetes-crds.md").read_text().partition("\n## ")[0].splitlines()
    commands = [
        line.partition("  #")[0].strip() for line in lines if line.startswith(("    tidegate ", "    kubectl "))
    ]
    assert len(commands) == 3
    for command in commands:
        tried = command.replace("kubectl apply", "kubectl apply --dry-run=server --force-conflicts")
        assert typed(tried, kube.kubeconfig)
