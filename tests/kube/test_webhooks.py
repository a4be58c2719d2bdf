"""`tidegate webhook` at a real API server: what it refuses, whom it makes trusted, and what becomes of it in trouble."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from k8s_source.kinds.conversion import V1ALPHA1, V1BETA1
from k8s_source.webhooks.authority import issue
from tests.support.fleet import SLACK
from tests.support.kube import Kube, kept_ports
from tests.support.kube_client import RefusedError
from tests.support.webhook import CONFIGURATION, CRD, NAMESPACE, Webhook, bundle, deployed, install, told, until
from tests.unit.k8s_source.manifests import gateway, route, watching

WRONG = [route(path="/a/../b"), route(name="b", path="/cart")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kube, Path]]:
    """An API server of this module's own, with all that is deployed, and a kubeconfig with the webhook's rights."""
    made = Kube(tmp_path_factory.mktemp("kube"))
    made.start()
    try:
        yield made, install(made)
    finally:
        made.stop()


@pytest.fixture
def kube(server: tuple[Kube, Path]) -> Kube:
    """That API server."""
    return server[0]


@pytest.fixture
def kubeconfig(server: tuple[Kube, Path]) -> Path:
    return server[1]


@pytest.fixture
def webhook(kube: Kube, kubeconfig: Path, tmp_path: Path) -> Iterator[Webhook]:
    """A replica that the API server has been told of."""
    made = Webhook(tmp_path, kubeconfig)
    told(kube, made)
    yield made
    assert made.stop() == 0, made.printed


@pytest.fixture
def namespace(kube: Kube) -> str:
    return kube.client.namespace(f"test-{random.randrange(10**9)}")


def path(namespace: str, version: str = V1ALPHA1, name: str = "") -> str:
    return f"/apis/{version}/namespaces/{namespace}/dynamicgateways" + (f"/{name}" if name else "")


def post(kube: Kube, namespace: str, *routes: Any, version: str = V1ALPHA1, query: str = "") -> dict[str, Any]:
    body = gateway(*routes) | {"apiVersion": version}
    return kube.client.request("POST", path(namespace, version) + query, body)


def is_judged(kube: Kube, namespace: str) -> bool:
    """Whether the API server asks the webhook by now."""
    try:
        post(kube, namespace, *WRONG, query="?dryRun=All")
    except RefusedError as error:
        return "denied the request" in str(error)
    return False


def test_what_is_wrong_is_refused_with_all_faults(kube: Kube, webhook: Webhook, namespace: str) -> None:
    until(lambda: is_judged(kube, namespace), webhook.printed)
    with pytest.raises(RefusedError) as refused:
        post(kube, namespace, route(path="/a/../b"), route(name="b", path="/(a", pathType="Regex"))
    status = refused.value.status
    assert refused.value.code == 422
    assert status["message"].startswith('admission webhook "dynamicgateways.gateway.tidegate.dev" denied the request: ')
    assert [each["field"] for each in status["details"]["causes"]] == ["spec.routes[0].path", "spec.routes[1].path"]
    with pytest.raises(RefusedError, match=r"matches the same as 'cart'"):
        post(kube, namespace, route(), route(name="b"), version=V1BETA1)
    assert post(kube, namespace, watching())["metadata"]["name"] == "shop"


def test_what_was_stored_wrong_can_be_changed_in_all_but_its_spec_and_deleted(
    kube: Kube, webhook: Webhook, namespace: str
) -> None:
    configuration = deployed("validation")[0]
    kube.client.delete(configuration)
    until(lambda: not is_judged(kube, namespace), webhook.printed)
    body = gateway(*WRONG, metadata={"namespace": namespace, "finalizers": ["tidegate.dev/test"]})
    kept = kube.client.request("POST", path(namespace), body)
    kube.client.apply(configuration)
    until(lambda: is_judged(kube, namespace), webhook.printed)
    one = path(namespace, name="shop")
    kept["metadata"]["labels"] = {"a": "b"}
    kept = kube.client.request("PUT", one, kept)
    kept["status"] = {"phase": "Degraded"}
    kept = kube.client.request("PUT", f"{one}/status", kept)
    assert kept["status"] == {"phase": "Degraded"}
    changed = {**kept, "spec": {**kept["spec"], "policy": {"failOpen": True}}}
    with pytest.raises(RefusedError, match="denied the request"):
        kube.client.request("PUT", one, changed)
    kube.client.raw("DELETE", one)
    leaving = kube.client.request("GET", one)
    assert leaving["metadata"]["deletionTimestamp"]
    leaving["metadata"]["finalizers"] = []
    kube.client.request("PUT", one, leaving)
    with pytest.raises(RefusedError):
        kube.client.request("GET", one)


def test_who_drops_the_bundle_gets_it_back(kube: Kube, webhook: Webhook) -> None:
    conversion, validation = bundle(kube)
    assert conversion == validation != ""
    webhook.freeze()  # or it might put it back in between
    for which, where in ((CRD, ("spec", "conversion", "webhook")), (CONFIGURATION, ("webhooks", 0))):
        found: Any = kube.client.get(*which)
        part = found
        for key in where:
            part = part[key]
        part["clientConfig"] = {"service": {"namespace": NAMESPACE, "name": "tidegate-webhook", "path": "/x"}}
        kube.client.request("PUT", kube.client.path(*which[:2], "", which[2]), found)
    assert bundle(kube) == ("", "")
    webhook.thaw()
    told(kube, webhook)
    assert bundle(kube) == (conversion, validation)


def test_replicas_agree_on_one_certificate(kube: Kube, kubeconfig: Path, tmp_path: Path) -> None:
    secret = f"shared-{random.randrange(10**9)}"
    grant(kube, secret)
    replicas = [Webhook(tmp_path, kubeconfig, "--secret", secret) for _ in range(3)]
    try:
        for each in replicas:
            until(lambda each=each: '"webhook_certificate"' in each.printed, each.printed)  # type: ignore[misc]
        served = {ssl.get_server_certificate(("127.0.0.1", each.port)) for each in replicas}
        assert len(served) == 1
        assert not any("webhook_not_refreshed" in each.printed for each in replicas)
    finally:
        assert [each.stop() for each in replicas] == [0, 0, 0]


def grant(kube: Kube, secret: str) -> None:
    """Let the webhook keep its certificate in another Secret, too."""
    role, binding = deployed("rbac")[:2]
    for each in (role, binding):
        each["metadata"]["name"] = secret
    binding["roleRef"]["name"] = secret
    role["rules"][1]["resourceNames"] = [secret]
    kube.apply([role, binding])


def test_certificates_follow_each_other_while_objects_are_read(
    kube: Kube, kubeconfig: Path, tmp_path: Path, namespace: str
) -> None:
    secret = f"short-{random.randrange(10**9)}"
    grant(kube, secret)
    made = Webhook(tmp_path, kubeconfig, "--secret", secret, "--certificate-life", "15s")
    try:
        told(kube, made)
        post(kube, namespace, watching())
        until(lambda: readable(kube, namespace), made.printed)
        begun, failures = time.monotonic(), []
        served: set[str] = set()
        while len(served) < 3:  # It lasts 15 s, and is followed after 10 s.
            assert time.monotonic() < begun + 25 * SLACK, made.printed
            try:
                kube.client.request("GET", path(namespace, V1BETA1))
            except RefusedError as error:
                # The API server begins anew with a kind whose definition changed, the bundle in it included.
                if error.code != 429:
                    failures.append(str(error))
            served.add(ssl.get_server_certificate(("127.0.0.1", made.port)))
            time.sleep(0.05)
        assert not failures
    finally:
        assert made.stop() == 0


def readable(kube: Kube, namespace: str) -> bool:
    try:
        return bool(kube.client.request("GET", path(namespace, V1BETA1))["items"])
    except RefusedError as error:
        if error.code not in {429, 500}:
            raise
        return False


def test_a_webhook_that_hangs_keeps_nobody_from_writing(kube: Kube, webhook: Webhook, namespace: str) -> None:
    until(lambda: is_judged(kube, namespace), webhook.printed)
    webhook.freeze()
    try:
        begun = time.monotonic()
        post(kube, namespace, watching())
        assert time.monotonic() - begun < 15
    finally:
        webhook.thaw()


def test_a_certificate_of_someone_else(kube: Kube, kubeconfig: Path, tmp_path: Path, namespace: str) -> None:
    made = issue(("127.0.0.1",), datetime.now(UTC), timedelta(days=1))
    files = {"cert": made.pair.certificate, "key": made.pair.key, "ca": made.authority}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    given = [text for name in files for text in (f"--{name}", str(tmp_path / name))]
    webhook = Webhook(tmp_path, kubeconfig, *given)
    try:
        told(kube, webhook)
        until(lambda: is_judged(kube, namespace), webhook.printed)
        post(kube, namespace, watching())
        until(lambda: readable(kube, namespace), webhook.printed)
    finally:
        assert webhook.stop() == 0


def test_it_is_alive_before_the_api_server_and_ready_after(own_kube: Any, tmp_path: Path) -> None:
    kube: Kube = own_kube()
    kubeconfig = install(kube)
    kube.kill()
    webhook = Webhook(tmp_path, kubeconfig, port=kept_ports(1)[0])
    try:
        until(lambda: "webhook_not_refreshed" in webhook.printed, "it says nothing")
        assert webhook.running
        kube.start()
        told(kube, webhook)
        until(lambda: '"webhook_recovered"' in webhook.printed, webhook.printed)
    finally:
        assert webhook.stop() == 0
