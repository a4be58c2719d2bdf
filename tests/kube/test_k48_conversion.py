"""K48: the conversion webhook converts everything that was ever stored, so that no odd object stops reads of all."""

from __future__ import annotations

import copy
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from k8s_source.crds.build import definitions
from k8s_source.kinds.conversion import V1ALPHA1, V1BETA1, convert
from tests.support.kube import Kube
from tests.support.kube_client import RefusedError
from tests.support.odd_gateways import VERSIONS, manifests, routes, samples
from tests.support.webhook import CRD, Webhook, deployed, install, told, until
from tests.unit.k8s_source.kinds.test_conversion import text
from tests.unit.k8s_source.manifests import gateway, route, watching

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))
Served = tuple[Kube, Webhook]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An API server of this module's own, with the CRD and a webhook."""
    server = Kube(tmp_path_factory.mktemp("kube"))
    server.start()
    webhook = Webhook(server.folder, install(server))
    told(server, webhook)
    try:
        yield server, webhook
    finally:
        webhook.stop()
        server.stop()


@pytest.fixture
def namespace(served: Served) -> str:
    return served[0].client.namespace(f"test-{random.randrange(10**9)}")


ODD: dict[str, dict[str, Any]] = {
    "two-thresholds": watching(kafkaLagThreshold=5, threshold=0.5),
    "threshold-of-nothing": route(threshold=1, recoverThreshold=2),
    "lag-without-group": route(kafkaLagThreshold=9223372036854775807, minDwell="5s"),
    "empty-lists": route(hosts=[], kafkaTopics=[]),
    "long-texts": watching(prometheusQuery="x" * 4096, kafkaCluster="c" * 4096, path="/" + "p" * 4000),
}
"""Routes that rules refuse today, and that were stored before there were rules."""

BLOCKS: dict[str, Any] = {
    "no-routes": {"routes": []},
    "empty": {},
    "empty-blocks": {"routes": [route()], "policy": {}, "listeners": []},
}

NEVER: dict[str, Any] = {
    "nulls": {"routes": [watching(hosts=None, kafkaTopics=None, retries=None)], "policy": None, "listeners": None},
    "null-routes": {"routes": None},
    "null-route": {"routes": [None, watching()]},
    "unknown": {"routes": [watching(lag={"topics": ["a"]}, extra={"a": [1]})], "more": {"b": None}},
    "texts": {"routes": "none", "policy": "none"},
    "mappings": {"routes": {"a": watching()}},
    "wrong-fields": {"routes": [watching(kafkaTopics="a", kafkaLagThreshold="100", kafkaConsumerGroup=5), "text", 5]},
    "nothing": None,
}
"""What no schema of ours would ever have let in; a CRD without one would have."""


def change(kube: Kube, versions: list[dict[str, Any]]) -> None:
    """Have the CRD these versions."""
    definition = kube.client.get(*CRD)
    definition["spec"]["versions"] = versions
    kube.client.request("PUT", kube.client.path(*CRD[:2], "", CRD[2]), definition)


def drop_rules(node: Any) -> None:
    if isinstance(node, dict):
        node.pop("x-kubernetes-validations", None)
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        drop_rules(each)


def store(kube: Kube, namespace: str, specs: dict[str, Any], schema: Callable[[Any], None]) -> None:
    """Store objects of v1alpha1 that the CRD of today, or the validating webhook, would refuse: before there were these.

    `schema` changes the schema of a version for as long as that takes.
    """
    without = deployed("validation")
    kube.client.delete(without[0])
    versions = definitions()[0]["spec"]["versions"]
    earlier = copy.deepcopy(versions)
    for each in earlier:
        schema(each["schema"]["openAPIV3Schema"])
    try:
        change(kube, earlier)
        for name, spec in specs.items():
            body = gateway(name=name, metadata={"namespace": namespace}) | {"spec": spec}
            until(lambda body=body: is_created(kube, body), f"{name} is refused")  # type: ignore[misc]  # until the schema is in force
    finally:
        change(kube, versions)
        kube.apply(without)


def anything_goes(schema: Any) -> None:
    """A schema that says nothing of `spec`."""
    schema["properties"]["spec"] = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}


def is_created(kube: Kube, body: dict[str, Any]) -> bool:
    """Create an object, unless it is refused as invalid."""
    try:
        kube.client.request("POST", path(body["metadata"]["namespace"], body["apiVersion"]), body)
    except RefusedError as error:
        if error.code != 422:
            raise
        return False
    return True


def path(namespace: str, version: str = V1ALPHA1) -> str:
    return f"/apis/{version}/namespaces/{namespace}/dynamicgateways"


def listed(kube: Kube, namespace: str, version: str) -> dict[str, dict[str, Any]]:
    items = kube.client.request("GET", path(namespace, version))["items"]
    return {each["metadata"]["name"]: each for each in items}


def is_readable(kube: Kube, namespace: str, version: str) -> bool:
    """Whether a version can be listed: after a change of the CRD, or of the webhook, the API server takes its time."""
    try:
        return bool(listed(kube, namespace, version))
    except RefusedError as error:
        if error.code not in {429, 500}:
            raise
        return False


def test_what_was_stored_is_read_in_both_versions_and_comes_back_as_it_was(served: Served, namespace: str) -> None:
    kube, webhook = served
    specs = {name: {"routes": [each]} for name, each in ODD.items()} | BLOCKS
    store(kube, namespace, specs, drop_rules)
    told(kube, webhook)
    for version in VERSIONS:
        until(lambda version=version: is_readable(kube, namespace, version), webhook.printed)  # type: ignore[misc]
    before = listed(kube, namespace, V1ALPHA1)
    seen = listed(kube, namespace, V1BETA1)
    assert seen.keys() == before.keys() == specs.keys()
    for name, found in seen.items():
        assert text(found) == text(convert(before[name], V1BETA1))
        assert plain_metadata(found) == plain_metadata(before[name])
    # Written in the other version, unchanged but for a label; rules are not asked of what stays as it is.
    for found in seen.values():
        found["metadata"]["labels"] = {"seen": "yes"}
        kube.client.request("PUT", f"{path(namespace, V1BETA1)}/{found['metadata']['name']}", found)
    after = listed(kube, namespace, V1ALPHA1)
    assert {each["metadata"]["generation"] for each in after.values()} == {1}
    assert {name: each["spec"] for name, each in after.items()} == {name: each["spec"] for name, each in before.items()}
    assert all("annotations" not in each["metadata"] for each in after.values())


def test_nothing_that_was_ever_stored_stops_a_list_of_all(served: Served, namespace: str) -> None:
    kube, webhook = served
    store(kube, namespace, NEVER, anything_goes)
    told(kube, webhook)
    kube.client.apply(gateway(watching(), name="right", metadata={"namespace": namespace}))
    for version in VERSIONS:
        until(lambda version=version: is_readable(kube, namespace, version), webhook.printed)  # type: ignore[misc]
        assert listed(kube, namespace, version).keys() == NEVER.keys() | {"right"}
    beta = listed(kube, namespace, V1BETA1)
    assert beta["right"]["spec"]["routes"][0]["lag"] == {"consumerGroup": "cart", "threshold": 100}
    assert beta["nulls"]["spec"]["routes"][0]["lag"]["threshold"] == 100
    for name in NEVER:
        kube.client.raw("DELETE", f"{path(namespace, V1BETA1)}/{name}")
    assert listed(kube, namespace, V1ALPHA1).keys() == {"right"}


def plain_metadata(body: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in body["metadata"].items() if key != "annotations"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_list_of_a_hundred_in_one_request(served: Served, namespace: str, version: str) -> None:
    kube, webhook = served
    bodies = samples(manifests(version, routes[version]), 300)
    names: list[str] = []
    for index, body in enumerate(bodies):
        body["metadata"] |= {"name": f"g{index}", "namespace": namespace}
        body["metadata"].pop("uid")
        if len(names) < 100 and is_created(kube, body):
            names.append(f"g{index}")
    assert len(names) == 100
    for other in (*VERSIONS, *VERSIONS):
        begun = time.monotonic()
        found = listed(kube, namespace, other)
        took = time.monotonic() - begun
        assert sorted(found) == sorted(names)
        assert took < 1 * SLACK
    alpha, beta = (listed(kube, namespace, each) for each in VERSIONS)
    for name, each in alpha.items():
        assert text(convert(each, V1BETA1)) == text(beta[name])
    assert '"outcome": "failed"' not in webhook.printed


def test_without_the_webhook_what_is_stored_is_read_and_written(served: Served, namespace: str, tmp_path: Path) -> None:
    kube, webhook = served
    body = gateway(watching(), metadata={"namespace": namespace})
    kube.client.apply(body)
    webhook.kill()
    try:
        with pytest.raises(RefusedError):
            listed(kube, namespace, V1BETA1)
        assert listed(kube, namespace, V1ALPHA1)["shop"]["spec"]["routes"][0]["kafkaLagThreshold"] == 100
        body["spec"]["routes"][0]["kafkaLagThreshold"] = 7  # type: ignore[index]
        kube.client.apply(body)
        assert listed(kube, namespace, V1ALPHA1)["shop"]["spec"]["routes"][0]["kafkaLagThreshold"] == 7
    finally:
        again = Webhook(tmp_path, webhook.kubeconfig, port=webhook.port)
        told(kube, again)
    try:
        until(lambda: is_readable(kube, namespace, V1BETA1), again.printed)
        assert listed(kube, namespace, V1BETA1)["shop"]["spec"]["routes"][0]["lag"]["threshold"] == 7
    finally:
        again.stop()
