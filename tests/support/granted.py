"""Who the product is in tests with an API server: a ServiceAccount with the roles of `deploy/`, and with nothing more.

As in the overlay `namespaced`: what a test's Tidegate reads is one namespace, which is that of its Lease, too.
"""

from __future__ import annotations

import copy
import functools
from pathlib import Path

from tests.support.kube import Kube
from tests.support.kube_client import Object
from tests.support.kustomize import DEPLOY, of_kind, rendered

SYSTEM = "tidegate-system"
ACCOUNT = "tidegate"


def kubeconfig(kube: Kube, namespace: str, account: str = ACCOUNT, *, server: str = "") -> Path:
    """A kubeconfig of an account of this namespace that may do what `account` of deploy/ may; made if it is not there.

    `server` is another way to the API server.
    """
    user = {"token": grant(kube, namespace, account)}
    return kube.write_kubeconfig(f"{namespace}-{account}", user=user, server=server, namespace=namespace)


def grant(kube: Kube, namespace: str, account: str = ACCOUNT, *, like: str = ACCOUNT) -> str:
    """Give an account of this namespace what `like` has in deploy/; a token of it."""
    token = kube.token(namespace, account)
    subject: Object = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    for role in of_kind(_roles(), "Role", "ClusterRole"):
        kube.client.apply(_moved(role, namespace))
    for binding in of_kind(_roles(), "RoleBinding", "ClusterRoleBinding"):
        if any(each["name"] == like for each in binding["subjects"]):
            kube.client.apply(_bound(binding, namespace, subject))
    return token


def _bound(binding: Object, namespace: str, subject: Object) -> Object:
    """The binding, for one account and, but for what belongs to no namespace, in one namespace."""
    made = _moved(binding, namespace)
    made["metadata"]["name"] += f"-{namespace}-{subject['name']}"
    made["subjects"] = [subject]
    if made["roleRef"]["name"] == "tidegate-gateways":
        made["kind"] = "RoleBinding"
        made["metadata"]["namespace"] = namespace
    return made


def _moved(body: Object, namespace: str) -> Object:
    """An object of the namespace of Tidegate, in another one."""
    made = copy.deepcopy(body)
    if made["metadata"].get("namespace") == SYSTEM:
        made["metadata"]["namespace"] = namespace
    return made


@functools.cache
def _roles() -> tuple[Object, ...]:
    """All roles and bindings, those of the components as well."""
    folders = ("overlays/ha", "components/token-review")
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    return tuple(each for folder in folders for each in of_kind(rendered(DEPLOY / folder), *kinds))
