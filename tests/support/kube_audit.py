"""The audit log of an API server: who asked for what, and what of a role was used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from tests.support.kube_client import Object
from tests.support.kustomize import of_kind

POLICY: Object = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "Panic"],
    "rules": [{"level": "Metadata"}],
}
"""All requests, without their bodies; a watch as soon as it is answered."""


_WRITES = ("create", "update", "patch", "delete")


@dataclass(frozen=True)
class Right:
    """A verb on a resource (`GROUP/RESOURCE` or `GROUP/RESOURCE/SUBRESOURCE`) in a namespace; "" is all of them."""

    namespace: str
    resource: str
    verb: str


@dataclass(frozen=True)
class Asked:
    """One request of an account."""

    right: Right
    name: str
    code: int


@dataclass(frozen=True)
class Written:
    """One write: with which credential, of what (`dynamicgateways/status`), from when to when (POSIX seconds), how it ended."""

    credential: str
    what: str
    name: str
    began: float
    ended: float
    code: int


class AuditLog:
    """The log of one API server; `flags` are for its start."""

    def __init__(self, folder: Path, name: str = "audit") -> None:
        """Write the policy."""
        self._path = folder / f"{name}.log"
        policy = folder / f"{name}-policy.json"
        policy.write_bytes(msgspec.json.encode(POLICY))
        self.flags = (f"--audit-policy-file={policy}", f"--audit-log-path={self._path}")

    def of_account(self, namespace: str, name: str) -> list[Asked]:
        """What a ServiceAccount has asked for of objects, with or without success."""
        user = f"system:serviceaccount:{namespace}:{name}"
        return [_asked(each) for each in self._entries() if each["user"]["username"] == user and "objectRef" in each]

    def writes(self, credential: str, what: str) -> list[Written]:
        """What was written with a credential (`JTI=…`) of a resource, its parts included, in the order in which it began."""
        found = [_written(each) for each in self._entries() if each["verb"] in _WRITES and "objectRef" in each]
        ours = [each for each in found if each.credential == credential and each.what.startswith(what)]
        return sorted(ours, key=lambda each: each.began)

    def refused(self, account: str) -> list[Asked]:
        """What ServiceAccounts of that name, in any namespace, were refused for want of a right."""
        found = (each for each in self._entries() if "objectRef" in each and _account(each) == account)
        return [asked for asked in map(_asked, found) if asked.code == HTTPStatus.FORBIDDEN]

    def _entries(self) -> Iterator[dict[str, Any]]:
        for line in self._path.read_bytes().splitlines():
            yield msgspec.json.decode(line)


def granted(objects: list[Object], namespace: str, account: str) -> set[Right]:
    """What the roles that are bound to a ServiceAccount give it."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in of_kind(objects, "Role", "ClusterRole")}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return {
        Right(binding["metadata"].get("namespace", ""), f"{group}/{resource}", verb)
        for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        if subject in binding["subjects"]
        for rule in roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def unused(rights: set[Right], asked: list[Asked]) -> set[Right]:
    """Those that no request has made use of."""
    done = {each.right for each in asked}
    anywhere = {(each.resource, each.verb) for each in done}
    return {
        each for each in rights if (each not in done if each.namespace else (each.resource, each.verb) not in anywhere)
    }


def _written(entry: dict[str, Any]) -> Written:
    about = entry["objectRef"]
    part = f"/{about['subresource']}" if "subresource" in about else ""
    times = (entry[name] for name in ("requestReceivedTimestamp", "stageTimestamp"))
    began, ended = (datetime.fromisoformat(each).timestamp() for each in times)
    code = entry.get("responseStatus", {}).get("code", 0)
    (credential,) = entry["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])
    return Written(credential, f"{about['resource']}{part}", about.get("name", ""), began, ended, code)


def _account(entry: dict[str, Any]) -> str:
    """The name of the ServiceAccount that asked; "" where it was no such."""
    kind, _, name = str(entry["user"]["username"]).rpartition(":")
    return name if kind.startswith("system:serviceaccount:") else ""


def _asked(entry: dict[str, Any]) -> Asked:
    what = entry["objectRef"]
    parts = [what.get("apiGroup", ""), what["resource"], *filter(None, [what.get("subresource")])]
    right = Right(what.get("namespace", ""), "/".join(parts), entry["verb"])
    return Asked(right, what.get("name", ""), entry.get("responseStatus", {}).get("code", 0))
