"""Every test here needs a real API server; without the programs it is skipped, and says what is missing."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection, connect
from tests.support.fleet import Fleet
from tests.support.granted import ACCOUNT
from tests.support.kube import Kube, StartKube, missing
from tests.support.kube_audit import AuditLog
from tests.support.kube_proxy import KubeProxy
from tests.support.tiers import mark_tier

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    mark_tier(items, HERE, timeout=120, missing=missing())


@pytest.fixture(scope="session")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """One API server for all tests that leave it whole; they keep apart by namespaces.

    At its end no Tidegate has been refused anything for want of a right: all run with those of deploy/.
    """
    log = AuditLog(tmp_path_factory.mktemp("audit"))
    server = Kube(tmp_path_factory.mktemp("kube"), *log.flags)
    try:
        server.start()
        yield server
    finally:
        server.stop()
    assert log.refused(ACCOUNT) == []


@pytest.fixture
def own_kube(tmp_path: Path) -> Iterator[StartKube]:
    """Start an API server of the test's own, with these flags: for tests that break it."""
    servers: list[Kube] = []

    def started(*flags: str, controllers: bool = False) -> Kube:
        server = Kube(tmp_path / f"kube-{len(servers)}", *flags, controllers=controllers)
        servers.append(server)
        server.start()
        return server

    yield started
    for server in servers:
        server.stop()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Starts Tidegate and Envoys for this test."""
    async with AsyncExitStack() as stack:
        yield Fleet(tmp_path, stack)


@pytest.fixture
def namespace(kube: Kube) -> str:
    """A namespace of the test's own."""
    return kube.client.namespace(f"test-{uuid.uuid4().hex[:8]}")


@pytest.fixture
async def proxy(kube: Kube) -> AsyncIterator[KubeProxy]:
    """A way to the API server that breaks what the test asks for; admin for everybody, by whatever token."""
    proxy = KubeProxy(kube.url, kube.pki.client_context("admin"), kube.pki.server_context())
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest.fixture
async def proxied(kube: Kube, proxy: KubeProxy) -> AsyncIterator[Api]:
    """The client, through the proxy."""
    client = connect(Connection(kube.write_kubeconfig("proxied", user={}, server=proxy.url)))
    yield client
    await client.close()


@pytest.fixture
async def api(kube: Kube) -> AsyncIterator[Api]:
    """The client, as admin."""
    client = connect(Connection(kube.kubeconfig))
    yield client
    await client.close()
