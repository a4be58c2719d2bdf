"""deploy/: an API server takes every overlay as it is, and pods keep to what their namespace demands."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.kube import Kube
from tests.support.kube_client import Object, RefusedError
from tests.support.kustomize import DEPLOY, of_kind, rendered, run

OVERLAYS = [".", "overlays/ha", "overlays/namespaced", "samples"]
COMPONENTS = ["cert-manager", "prometheus", "state-volume", "token-review"]
FOREIGN = ("PodMonitor", "Certificate", "Issuer")
"""Kinds of other projects, which no plain API server knows."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """An API server to which the overlay `ha` has been applied, with a namespace `shop`."""
    server = Kube(tmp_path_factory.mktemp("kube"))
    try:
        server.start()
        server.apply(list(of_kind(rendered(DEPLOY / "samples"), "Namespace")))
        server.token("shop", "default")  # the account, which a controller would make
        run("apply", "-k", str(DEPLOY / "overlays/ha"), kubeconfig=server.kubeconfig)
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_taken_without_a_word(installed: Kube, overlay: str) -> None:
    """Strictly: no field that is unknown or doubled. A dry run, so that overlays don't meet."""
    _try(installed, rendered(DEPLOY / overlay))


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_fits_the_base(installed: Kube, component: str, tmp_path: Path) -> None:
    folder = _with(tmp_path, component)
    found = rendered(folder)
    _try(installed, [each for each in found if each["kind"] not in FOREIGN])
    assert found != rendered(DEPLOY / "overlays/single")


@pytest.mark.parametrize("folder", [*OVERLAYS[:-1], *COMPONENTS])
def test_over_the_base_nothing_leaves_a_right_behind(folder: str, tmp_path: Path) -> None:
    """`kubectl apply` removes no object: what is to give no right any more has to be there, and to give none."""
    found = rendered(_with(tmp_path, folder) if folder in COMPONENTS else DEPLOY / folder)
    assert _bindings(rendered(DEPLOY)) - _bindings(found) == set()


def test_applied_once_more_nothing_changes(installed: Kube) -> None:
    """The API server writes nothing; kubectl may say "configured" of patches that come to nothing."""
    folder = DEPLOY / "overlays/ha"
    before = _versions(installed, folder)
    run("apply", "-k", str(folder), kubeconfig=installed.kubeconfig)
    assert _versions(installed, folder) == before


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_keep_to_the_restricted_level(installed: Kube, overlay: str) -> None:
    """The namespace refuses those that don't: a pod that may gain privileges is the proof."""
    pods = [_pod(each) for each in of_kind(rendered(DEPLOY / overlay), "Deployment")]
    assert pods
    for pod in pods:
        _make(installed, pod)
        loose = copy.deepcopy(pod)
        loose["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
        with pytest.raises(RefusedError, match="violates PodSecurity"):
            _make(installed, loose)


def test_the_image_is_this_version() -> None:
    images = {
        container["image"]
        for each in of_kind(rendered(DEPLOY), "Deployment")
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"tidegate:{version('tidegate')}"}


def test_what_keeps_two_replicas_apart() -> None:
    """In the overlay `ha`: two of each, spread over nodes and zones, and drained one at a time."""
    objects = rendered(DEPLOY / "overlays/ha")
    deployments = list(of_kind(objects, "Deployment"))
    budgets = [each["spec"]["selector"]["matchLabels"] for each in of_kind(objects, "PodDisruptionBudget")]
    for each in deployments:
        pod = each["spec"]["template"]
        spread = {rule["topologyKey"] for rule in pod["spec"]["topologySpreadConstraints"]}
        assert each["spec"]["replicas"] == 2
        assert spread == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
        assert sum(labels.items() <= pod["metadata"]["labels"].items() for labels in budgets) == 1
    assert len(deployments) == len(budgets) == 2


def _versions(server: Kube, folder: Path) -> list[str]:
    return [_found(server, each)["metadata"]["resourceVersion"] for each in rendered(folder)]


def _found(server: Kube, body: Object) -> Object:
    metadata = body["metadata"]
    return server.client.get(body["apiVersion"], body["kind"], metadata["name"], metadata.get("namespace", ""))


def _try(server: Kube, objects: list[Object]) -> None:
    client = server.client
    for each in objects:
        metadata = each["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        query = "?dryRun=All&fieldValidation=Strict"
        try:
            found = _found(server, each)
        except RefusedError:
            client.request("POST", client.path(each["apiVersion"], each["kind"], namespace) + query, each)
        else:  # In its place: an overlay is not laid over another one.
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
            client.request("PUT", client.path(each["apiVersion"], each["kind"], namespace, name) + query, each)


def _pod(deployment: Object) -> Object:
    """A pod as the ReplicaSet of the Deployment would make it."""
    template = copy.deepcopy(deployment["spec"]["template"])
    metadata = {**template["metadata"], **deployment["metadata"], "name": f"{deployment['metadata']['name']}-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _make(server: Kube, pod: Object) -> None:
    path = server.client.path("v1", "Pod", pod["metadata"]["namespace"])
    server.client.request("POST", f"{path}?dryRun=All", pod)


def _bindings(objects: list[Object]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in of_kind(objects, "RoleBinding", "ClusterRoleBinding")}


def _with(folder: Path, component: str) -> Path:
    up = os.path.relpath(DEPLOY, folder.resolve())  # kustomize takes no other
    (folder / "kustomization.yaml").write_text(
        f"resources: [{up}/overlays/single]\ncomponents: [{up}/components/{component}]\n"
    )
    return folder
