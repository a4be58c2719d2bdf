"""DynamicGateways on a real API server, Tidegates that serve them, and Envoys that are played: what was said, and by whom."""

from __future__ import annotations

import asyncio
import copy
import os
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from k8s_source.crds.build import definitions
from tests.conformance.client import Answer, Stream, accept, connect
from tests.conformance.wire import Variant
from tests.support import granted
from tests.support.kube import Kube
from tests.support.kube_client import Object, RefusedError
from xds_server.demo.control_plane import ControlPlane

GROUP_VERSION = "gateway.tidegate.dev/v1alpha1"
KIND = "DynamicGateway"
FINALIZER = "gateway.tidegate.dev/deprogram"
LEASE = {"lease_duration": "3s", "renew_deadline": "2s", "retry_period": "0.5s"}
"""Times of leader election, short for tests."""

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))

T = TypeVar("T")


def install(kube: Kube) -> Object:
    """Install the CRD, without the webhook that would convert; it is given back for `delete`."""
    (definition,) = (copy.deepcopy(each) for each in definitions())
    definition["spec"]["conversion"] = {"strategy": "None"}
    return kube.client.apply(definition)


def gateway(namespace: str, name: str, *, port: int = 8080, backend: str = "shop", **metadata: object) -> Object:
    """A gateway with one route to a Service."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {
            "listeners": [{"name": "http", "port": port}],
            "routes": [{"name": "all", "path": "/", "hosts": [f"{name}.example"], "backendService": backend}],
        },
    }


def backend(namespace: str, name: str = "shop", *addresses: str) -> list[Object]:
    """A Service with its EndpointSlice."""
    labels = {"kubernetes.io/service-name": name}
    endpoints = [{"addresses": [each]} for each in addresses or ("10.0.0.1",)]
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{name}-1", "namespace": namespace, "labels": labels},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": endpoints,
        },
    ]


class Shop:
    """One namespace of an API server, with what works in it. Everything ends with the test."""

    def __init__(self, kube: Kube, namespace: str, folder: Path, stack: AsyncExitStack) -> None:
        self.kube = kube
        self.namespace = namespace
        self.planes: list[ControlPlane] = []
        self.credentials: list[str] = []
        """By plane; see `AuditLog.writes`."""
        self._folder = folder
        self._stack = stack

    async def plane(
        self, *, server: str = "", settings: Mapping[str, Any] | None = None, source: Mapping[str, Any] | None = None
    ) -> ControlPlane:
        """Start a Tidegate of this namespace, with the rights of deploy/; `server` is another way to the API server.

        `settings` and those of the `source` go before what is usual here.
        """
        name = f"plane-{len(self.planes)}"
        config = await asyncio.to_thread(self._granted, name, server)
        usual = {"kind": "kubernetes", "kubeconfig": str(config), "namespaces": [self.namespace]}
        election = {"namespace": self.namespace, **LEASE}
        given = {"kubernetes": {"leader_election": election, "deprogram_timeout": "3s"}, **(settings or {})}
        plane = ControlPlane(self._folder / name, settings={"sources": [{**usual, **(source or {})}], **given})
        self.planes.append(plane)
        self._stack.push_async_callback(plane.stop)
        await plane.start(within=20 * SLACK)
        return plane

    def _granted(self, name: str, server: str) -> Path:
        """A kubeconfig with a token that nobody else has: the audit log tells by it which plane has asked."""
        made = granted.kubeconfig(self.kube, self.namespace, server=server)
        config = self._folder / f"{name}.kubeconfig"
        config.write_bytes(made.read_bytes())
        self.credentials.append(_credential(config))
        return config

    async def envoy(self, plane: ControlPlane, node: str, answer: Answer = accept) -> Stream:
        """Open a stream that plays an Envoy, and asks for everything."""
        channel = await self._stack.enter_async_context(connect(plane.xds))
        stream = Stream(channel, Variant.DELTA, node, answer=answer)
        await self._stack.enter_async_context(stream)
        stream.ask("cds")
        stream.ask("lds")
        return stream

    async def apply(self, *objects: Object) -> list[Object]:
        """Apply objects; as they are afterwards."""
        return await asyncio.to_thread(self.kube.apply, objects)

    async def delete(self, body: Object) -> None:
        """Delete an object; it may stay for a while."""
        await asyncio.to_thread(self.kube.client.delete, body)

    async def get(self, name: str) -> Object:
        """A gateway; {} where there is none."""
        try:
            return await asyncio.to_thread(self.kube.client.get, GROUP_VERSION, KIND, name, self.namespace)
        except RefusedError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return {}

    async def events(self, name: str) -> list[Object]:
        """The Events about a gateway, in order."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        found = (await asyncio.to_thread(self.kube.client.request, "GET", path))["items"]
        ours = [each for each in found if each["regarding"]["name"] == name]
        return sorted(ours, key=lambda each: str(each["eventTime"]))

    async def told(self, name: str, kind: str, status: str, *, generation: int = 0, within: float = 5.0) -> Object:
        """Wait until a condition of a gateway has that status; the gateway."""

        async def found() -> Object | None:
            body = await self.get(name)
            met = condition(body, kind)
            fits = met.get("status") == status and met["observedGeneration"] >= generation
            return body if fits else None

        return await until(found, within, f"{kind} of {name} is {status}")

    async def gone(self, name: str, within: float = 5.0) -> None:
        """Wait until a gateway is gone."""

        async def is_gone() -> bool:
            return not await self.get(name)

        await until(is_gone, within, f"{name} is gone")


def _credential(kubeconfig: Path) -> str:
    """What an audit log calls the token of a kubeconfig: by its claim `jti`."""
    (user,) = msgspec.json.decode(kubeconfig.read_bytes())["users"]
    claims = user["user"]["token"].split(".")[1]
    found = msgspec.json.decode(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return f"JTI={found['jti']}"


def condition(body: Object, kind: str) -> Object:
    """A condition of an object, {} where it has none."""
    conditions = body.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


async def until(found: Callable[[], Awaitable[T | None]], within: float, what: str) -> T:
    """Wait until something is there; `within` seconds are multiplied by the slack of tests."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within * SLACK
    while True:
        if result := await found():
            return result
        assert loop.time() < deadline, f"not within {within} s: {what}"
        await asyncio.sleep(0.05)


@asynccontextmanager
async def opened(kube: Kube, namespace: str, folder: Path) -> AsyncIterator[Shop]:
    """A shop for one test."""
    async with AsyncExitStack() as stack:
        yield Shop(kube, namespace, folder, stack)
