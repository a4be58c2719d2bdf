"""The roles of deploy/: what people and the product's own accounts may do, and what not."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.fleet import SLACK
from tests.support.granted import SYSTEM
from tests.support.kube import CONTROLLERS, Kube, program
from tests.support.kube_client import Object
from tests.support.kustomize import DEPLOY, of_kind, rendered

GATEWAYS = "gateway.tidegate.dev/dynamicgateways"
WRITES = ("create", "update", "patch", "delete")
ROLES = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")

SHOWN = (GATEWAYS, "/services", "/events")
"""What `kubectl get` and `kubectl describe` of a gateway read. They read Events in their core form."""

PEOPLE = {"viewer": "view", "developer": "edit", "owner": "admin"}
"""Who is bound to which of Kubernetes' own roles in the namespace `shop`."""


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """An API server with the roles of the overlay `namespaced`, whose namespace is `shop`, and with people.

    Before that it had those of the base, as after a first try: what an overlay leaves out stays there.
    """
    if program(CONTROLLERS) is None:
        pytest.skip(f"{CONTROLLERS} is not beside the API server: it aggregates roles")
    server = Kube(tmp_path_factory.mktemp("kube"), controllers=True)
    try:
        server.start()
        for name in (SYSTEM, "shop", "other"):
            server.client.namespace(name)
        for each in (".", "overlays/namespaced"):
            server.apply(list(of_kind(rendered(DEPLOY / each), *ROLES)))
        server.apply([_binding(person, "ClusterRole", role, "shop") for person, role in PEOPLE.items()])
        for person, verb in (("viewer", "get"), ("developer", "create"), ("owner", "create")):
            _until_may(server, person, verb, GATEWAYS, "shop")
        yield server
    finally:
        server.stop()


def test_no_right_is_a_wildcard() -> None:
    found = [role for each in (".", "overlays/namespaced") for role in of_kind(rendered(DEPLOY / each), *ROLES)]
    rules = [rule for role in found for rule in role.get("rules", [])]
    assert rules
    assert all("*" not in value for rule in rules for values in rule.values() for value in values)


def test_names_in_roles_are_names_of_objects() -> None:
    """Kustomize changes names: a role that has the old one gives nothing."""
    objects = rendered(DEPLOY)
    made = {each["metadata"]["name"] for each in objects}
    named = {
        name
        for role in of_kind(objects, "Role", "ClusterRole")
        for rule in role["rules"]
        for name in rule.get("resourceNames", [])
    }
    assert named - made <= {"tidegate-webhook", "tidegate"}, "neither made by us nor by the product"
    assert {"tidegate", "dynamicgateways.gateway.tidegate.dev"} <= named


@pytest.mark.parametrize(("person", "may"), [("viewer", ()), ("developer", WRITES), ("owner", WRITES)])
def test_people_declare_gateways_by_the_roles_that_they_have(ruled: Kube, person: str, may: tuple[str, ...]) -> None:
    assert all(_may(ruled, person, verb, GATEWAYS, "shop") for verb in ("get", "list", "watch"))
    assert [verb for verb in WRITES if _may(ruled, person, verb, GATEWAYS, "shop")] == list(may)
    assert not any(_may(ruled, person, verb, GATEWAYS, "other") for verb in ("get", *WRITES))


@pytest.mark.parametrize("person", [*PEOPLE, "operator"])
def test_who_sees_gateways_sees_their_events(ruled: Kube, person: str) -> None:
    _let_operate(ruled)
    assert [what for what in SHOWN if not _may(ruled, person, "list", what, "shop")] == []


@pytest.mark.parametrize("person", PEOPLE)
def test_nobody_but_tidegate_writes_a_status(ruled: Kube, person: str) -> None:
    assert not any(_may(ruled, person, verb, f"{GATEWAYS}/status", "shop") for verb in ("update", "patch"))


def test_the_cluster_operator_works_switches_and_declares_in_every_namespace(ruled: Kube) -> None:
    _let_operate(ruled)
    assert all(_may(ruled, "operator", verb, GATEWAYS, "other") for verb in ("list", *WRITES))
    assert _may(ruled, "operator", "create", "/pods/portforward", SYSTEM)
    assert not _may(ruled, "operator", "create", "/pods/portforward", "shop")
    assert not any(
        _may(ruled, "operator", verb, "/secrets", space) for verb in ("get", "list") for space in ("shop", SYSTEM)
    )


def test_the_infrastructure_provider_upgrades_and_declares_nothing(ruled: Kube) -> None:
    ruled.apply([_binding("provider", "ClusterRole", "tidegate-infrastructure-provider", "")])
    ruled.apply([_binding("provider", "Role", "tidegate-infrastructure-provider", SYSTEM)])
    crds = "apiextensions.k8s.io/customresourcedefinitions"
    _until_may(ruled, "provider", "patch", crds, name="dynamicgateways.gateway.tidegate.dev")
    assert not _may(ruled, "provider", "patch", crds, name="gateways.gateway.networking.k8s.io")
    _until_may(ruled, "provider", "patch", "apps/deployments", SYSTEM)
    assert not any(_may(ruled, "provider", verb, GATEWAYS, "shop") for verb in WRITES)


def test_namespaced_tidegate_reads_its_namespaces_only(ruled: Kube) -> None:
    account = f"system:serviceaccount:{SYSTEM}:tidegate"
    for what in (GATEWAYS, "/secrets", "/services"):
        assert _may(ruled, account, "list", what, "shop")
        assert not _may(ruled, account, "list", what, "other")
        assert not _may(ruled, account, "list", what)


def _may(server: Kube, user: str, verb: str, resource: str, namespace: str = "", *, name: str = "") -> bool:
    """Whether a user may; `resource` is GROUP/RESOURCE or GROUP/RESOURCE/SUBRESOURCE, all namespaces are ""."""
    group, kind, *below = resource.split("/")
    what = {"verb": verb, "group": group, "resource": kind, "namespace": namespace, "name": name}
    spec: Object = {"user": user, "resourceAttributes": {**what, "subresource": "".join(below)}}
    answer = server.client.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    return bool(answer["status"]["allowed"])


def _let_operate(server: Kube) -> None:
    server.apply([_binding("operator", "ClusterRole", "tidegate-cluster-operator", "")])
    server.apply([_binding("operator", "Role", "tidegate-cluster-operator", SYSTEM)])
    _until_may(server, "operator", "list", GATEWAYS, "other")
    _until_may(server, "operator", "create", "/pods/portforward", SYSTEM)


def _binding(person: str, kind: str, role: str, namespace: str) -> Object:
    group = "rbac.authorization.k8s.io"
    within = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": person, **within},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": person}],
    }


def _until_may(server: Kube, user: str, verb: str, resource: str, namespace: str = "", *, name: str = "") -> None:
    """Wait until a user may: an API server takes its time to know roles and bindings that were just made."""
    deadline = time.monotonic() + 20 * SLACK
    while not _may(server, user, verb, resource, namespace, name=name):
        assert time.monotonic() < deadline, f"{user} may not {verb} {resource} in {namespace or 'all namespaces'}"
        time.sleep(0.05)
