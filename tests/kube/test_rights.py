"""The product's own accounts: what they ask for is granted, and what is granted they ask for (RBAC against the audit log)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.conformance.wire import Variant, node_of
from tests.support import webhook
from tests.support.callers import Caller
from tests.support.granted import SYSTEM
from tests.support.kube import Kube, StartKube
from tests.support.kube_audit import Asked, AuditLog, granted, unused
from tests.support.kube_shop import Shop, backend, gateway, install, opened, until
from tests.support.kustomize import DEPLOY, of_kind, rendered
from tests.support.webhook import Webhook

SERVERS = {"streamed": (), "paged": ("--feature-gates=WatchList=false",)}
"""Flags of API servers: one that sends lists as a stream, and one that sends pages, as those before 1.34 do."""

ROLES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


EDGE = "edge"
"""The gateway, and the ServiceAccount of its Envoy."""

AUDIENCE = "tidegate"


@pytest.mark.timeout(300)
async def test_the_control_plane_uses_what_it_is_granted_and_asks_for_nothing_else(
    own_kube: StartKube, tmp_path: Path
) -> None:
    roles = [*of_kind(rendered(DEPLOY / "overlays/ha"), *ROLES), *rendered(DEPLOY / "components/token-review")]
    asked: list[Asked] = []
    for name, flags in SERVERS.items():
        log = AuditLog(tmp_path, name)
        server = await asyncio.to_thread(own_kube, *log.flags, *flags)
        (tmp_path / name).mkdir()
        await _a_day(server, tmp_path / name)
        server.stop()
        asked += log.of_account(SYSTEM, "tidegate")
    assert [each for each in asked if each.code == HTTPStatus.FORBIDDEN] == []
    assert unused(granted(roles, SYSTEM, "tidegate"), asked) == set()


async def _a_day(server: Kube, folder: Path) -> None:
    """A gateway comes, loses its Service twice, and goes; an Envoy that shows a token has it; a replica looks for others."""
    install(server)
    server.client.namespace(SYSTEM)
    token = server.token(SYSTEM, EDGE, audience=AUDIENCE)
    edge = {"subject": f"system:serviceaccount:{SYSTEM}:{EDGE}", "groups": ["*"]}
    settings = {
        "xds": {"auth": {"token_review": {"audience": AUDIENCE}, "clients": [edge]}},
        "replicas": {"service": "tidegate-peers", "namespace": SYSTEM},
    }
    async with opened(server, SYSTEM, folder) as shop, AsyncExitStack() as stack:
        plane = await shop.plane(settings=settings)
        service, endpoints = backend(SYSTEM)
        await shop.apply(service, endpoints, gateway(SYSTEM, EDGE))
        await shop.told(EDGE, "Resolved", "True")
        stream = await Caller(plane.xds, token=token).stream(stack, Variant.DELTA, node_of(EDGE))
        stream.ask("cds")
        await stream.next("cds")
        for _ in range(2):
            await shop.delete(service)
            await shop.told(EDGE, "Resolved", "False")
            await shop.apply(service)
            await shop.told(EDGE, "Resolved", "True")
        await until(lambda: _is_a_series(shop), 5, "the second loss is the same Event once more")
        await shop.delete(gateway(SYSTEM, EDGE))
        await shop.gone(EDGE)


async def _is_a_series(shop: Shop) -> bool:
    return any(each.get("series") for each in await shop.events(EDGE))


async def test_the_webhook_uses_what_it_is_granted_and_asks_for_nothing_else(
    own_kube: StartKube, tmp_path: Path
) -> None:
    log = AuditLog(tmp_path)
    server = await asyncio.to_thread(own_kube, *log.flags)
    rights = granted(rendered(DEPLOY), SYSTEM, "tidegate-webhook")
    process = Webhook(tmp_path, webhook.install(server), "--certificate-life", "15s")

    async def all_used() -> bool:
        return not unused(rights, log.of_account(SYSTEM, "tidegate-webhook"))

    try:
        await until(all_used, 20, "a certificate is made, told, and made anew")
    finally:
        process.stop()
    assert [each for each in log.of_account(SYSTEM, "tidegate-webhook") if each.code == HTTPStatus.FORBIDDEN] == []
