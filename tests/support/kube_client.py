"""A small client of an API server for tests, as admin: what they set up and look at does not go through what they test."""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec

Object = dict[str, Any]
"""A Kubernetes object as plain values."""

MANAGER = "tests"

IDLE = 30.0
"""Seconds after which a connection is not used again: API servers close those that have been idle for long."""


EXCHANGED = b"apiserver is shutting down"
"""What is answered (503) while the handler of a CRD is exchanged, as well as at the end."""

PAUSE = 0.1


class RefusedError(Exception):
    """An answer that is no success; `status` is the body's `metav1.Status`."""

    def __init__(self, code: int, status: Object) -> None:
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code = code
        self.status = status


class KubeClient:
    """Blocking; one connection for each thread that asks. Call it by `asyncio.to_thread` for more than a few requests."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._port = port
        self._context = context
        self._local = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}

    def close(self) -> None:
        """Close all connections; they open again when they are used."""
        for connection in self._connections:
            connection.close()

    def is_ready(self) -> bool:
        """Whether the server says that it is."""
        try:
            self.raw("GET", "/readyz")
        except (OSError, http.client.HTTPException, RefusedError):
            return False
        return True

    def raw(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        *,
        again: int = 50,
    ) -> bytes:
        """The answer's body. Raises RefusedError; while a CRD is exchanged only when that was so `again` times."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=30)
            self._local.connection = connection
            self._connections.append(connection)
        now = time.monotonic()
        if now - getattr(self._local, "asked", now) > IDLE:
            connection.close()
        self._local.asked = now
        try:
            headers = {"Content-Type": content_type, "Accept": accept}
            connection.request(method, path, None if body is None else msgspec.json.encode(body), headers)
            answer = connection.getresponse()
            content: bytes = answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        if answer.status == HTTPStatus.SERVICE_UNAVAILABLE and EXCHANGED in content and again:
            # Nothing was done: the CRD has another schema as of now, and the one before takes no more requests.
            time.sleep(PAUSE)
            return self.raw(method, path, body, content_type, accept, again=again - 1)
        if answer.status >= 300:
            raise RefusedError(answer.status, _decoded(content))
        return content

    def request(self, method: str, path: str, body: Object | None = None, content_type: str = "") -> Object:
        """The answer, decoded. Raises RefusedError."""
        answer: Object = msgspec.json.decode(self.raw(method, path, body, content_type or "application/json"))
        return answer

    def table(self, path: str) -> Object:
        """What `kubectl get` makes its columns of."""
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        answer: Object = msgspec.json.decode(self.raw("GET", path, accept=accept))
        return answer

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """The path of an object, or of its kind; found by discovery."""
        plural, namespaced = self._plural(api_version, kind)
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        within = f"/namespaces/{namespace or 'default'}" if namespaced else ""
        return f"{base}{within}/{plural}" + (f"/{quote(name)}" if name else "")

    def apply(self, body: Object, *, manager: str = MANAGER, subresource: str = "") -> Object:
        """Server-side apply, by force; the object as it is afterwards. A CRD is waited for until it is served."""
        where = self._path_of(body) + (f"/{subresource}" if subresource else "")
        query = f"?fieldManager={manager}&force=true"
        applied = self.request("PATCH", where + query, body, "application/apply-patch+yaml")
        if body["kind"] == "CustomResourceDefinition":
            self._established(where)
        return applied

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object:
        """One object."""
        return self.request("GET", self.path(api_version, kind, namespace, name))

    def delete(self, body: Object) -> None:
        """Delete an object."""
        self.raw("DELETE", self._path_of(body))

    def namespace(self, name: str) -> str:
        """Make a namespace."""
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def _path_of(self, body: Object) -> str:
        metadata = body["metadata"]
        return self.path(body["apiVersion"], body["kind"], metadata.get("namespace", ""), metadata["name"])

    def _plural(self, api_version: str, kind: str) -> tuple[str, bool]:
        if (api_version, kind) not in self._paths:
            found = self.request("GET", f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")
            for each in found["resources"]:
                if "/" not in each["name"]:
                    self._paths[api_version, each["kind"]] = each["name"], each["namespaced"]
        return self._paths[api_version, kind]

    def _established(self, path: str, limit: float = 30.0) -> None:
        deadline = time.monotonic() + limit
        spec = self.request("GET", path)["spec"]
        served = [f"/apis/{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]]
        while not all(self._serves(each, spec["names"]["plural"]) for each in served):
            assert time.monotonic() < deadline, f"{path} is not served"
            time.sleep(0.05)

    def _serves(self, group_version: str, plural: str) -> bool:
        try:
            found = self.request("GET", group_version)
        except RefusedError:
            return False
        return any(each["name"] == plural for each in found["resources"])


def _decoded(content: bytes) -> Object:
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError:
        found = None
    return found if isinstance(found, dict) else {"message": content.decode(errors="replace")}
