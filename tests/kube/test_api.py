"""The client against a real API server: requests, errors, streams and credentials."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import msgspec
import pytest

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection, connect
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import LEASES, SERVICES, Resource
from tests.support.kube import Kube, StartKube

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")


def _config_map(name: str, **data: str) -> bytes:
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


async def test_an_object_is_made_read_changed_and_deleted(api: Api, namespace: str) -> None:
    await api.create(CONFIG_MAPS, namespace, _config_map("one", a="1"))
    await api.patch(CONFIG_MAPS, namespace, "one", b'{"data": {"b": "2"}}', kind="merge")
    await api.patch(CONFIG_MAPS, namespace, "one", b'[{"op": "remove", "path": "/data/a"}]', kind="json")
    await api.apply(CONFIG_MAPS, namespace, "one", _config_map("one", c="3"), manager="tests")
    found = msgspec.json.decode(await api.get(CONFIG_MAPS, namespace, "one"))
    assert found["data"] == {"b": "2", "c": "3"}
    found["data"] = {}
    await api.update(CONFIG_MAPS, namespace, "one", msgspec.json.encode(found))
    with pytest.raises(ApiError) as stale:
        await api.update(CONFIG_MAPS, namespace, "one", msgspec.json.encode(found))
    assert stale.value.is_conflict
    with pytest.raises(ApiError) as another:
        await api.delete(CONFIG_MAPS, namespace, "one", uid="another")
    assert another.value.is_conflict
    await api.delete(CONFIG_MAPS, namespace, "one", uid=found["metadata"]["uid"])
    with pytest.raises(ApiError) as gone:
        await api.get(CONFIG_MAPS, namespace, "one")
    assert gone.value.is_not_found
    assert gone.value.reason == "NotFound"


async def test_a_field_of_another_manager_is_a_conflict_unless_it_is_forced(api: Api, namespace: str) -> None:
    await api.apply(CONFIG_MAPS, namespace, "one", _config_map("one", a="1"), manager="first")
    other = _config_map("one", a="2")
    with pytest.raises(ApiError) as found:
        await api.apply(CONFIG_MAPS, namespace, "one", other, manager="second", force=False)
    assert found.value.is_conflict
    assert "first" in found.value.message
    await api.apply(CONFIG_MAPS, namespace, "one", other, manager="second")


async def test_what_an_account_may_not_do_is_told_with_who_and_what(kube: Kube, namespace: str) -> None:
    client = connect(Connection(kube.account_kubeconfig(namespace, "nobody")))
    with pytest.raises(ApiError) as found:
        await client.get(LEASES, namespace, "one")
    await client.close()
    assert (found.value.status, found.value.reason) == (403, "Forbidden")
    assert f"system:serviceaccount:{namespace}:nobody" in found.value.message
    assert 'resource "leases"' in found.value.message


async def test_a_stream_that_is_silent_ends_with_an_error(api: Api, namespace: str) -> None:
    query = (
        ("watch", "true"),
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
    )
    lines: list[bytes] = []

    async def collect() -> None:
        async with aclosing(api.stream(SERVICES.path(namespace), query=query, idle=1.0)) as stream:
            async for line in stream:
                lines.append(line)  # noqa: PERF401 - the stream ends with an error; what came before counts

    before = time.monotonic()
    with pytest.raises(ApiError) as found:
        await collect()
    assert (found.value.status, found.value.reason) == (0, "Timeout")
    assert time.monotonic() - before < 10
    assert b"k8s.io/initial-events-end" in lines[-1]


async def test_a_frozen_server_is_given_up_in_time(own_kube: StartKube) -> None:
    server = own_kube()
    client = connect(Connection(server.kubeconfig))
    await client.request("GET", "/version")
    server.freeze()
    with pytest.raises(ApiError) as found:
        async with asyncio.timeout(10):
            await client.request("GET", "/version", timeout=1)
    server.thaw()
    assert (found.value.status, found.value.is_retryable) == (0, True)
    server.restart()
    await client.request("GET", "/version")
    await client.close()
