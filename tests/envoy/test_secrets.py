"""Certificates by SDS: in any order with what refers to them, deleted and back, rotated under new connections."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.certificates import Authority, Pair
from tests.support.fleet import SLACK, Fleet
from tests.support.publishers import LISTENER, ROUTES
from tests.support.watching import wait_for_certificate
from xds_server.demo.backends import Backend
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy
from xds_server.demo.load import Load
from xds_server.demo.polling import until
from xds_server.demo.world import (
    assignment,
    certificate_secret,
    cluster,
    listener,
    route,
    routes,
    secret_reference,
)
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

SECRET = "edge-certificate"
LIMIT = 2.0 * SLACK
"""Seconds from the last piece to a handshake with the right certificate."""


def write_secret(plane: ControlPlane, pair: Pair) -> None:
    write_documents(plane.files / "secret.yaml", [certificate_secret(SECRET, pair.certificate, pair.key)])


def write_listener(plane: ControlPlane, backend: Backend) -> None:
    documents = [
        cluster("start"),
        assignment("start", [backend.port]),
        listener(LISTENER, ROUTES, tls=secret_reference(SECRET)),
        routes(ROUTES, [route("start")]),
    ]
    write_documents(plane.files / "listener.yaml", documents)


async def all_show(envoys: list[Envoy], pair: Pair, authority: Authority) -> None:
    """Wait until every Envoy shows the certificate of `pair`."""
    context = authority.client_context()
    waits = (wait_for_certificate(envoy, LISTENER, pair.serial, context, within=LIMIT) for envoy in envoys)
    await asyncio.gather(*waits)


async def test_k65_secret_before_reference(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    pair = authority.issue("edge")
    write_secret(plane, pair)
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await plane.programmed(nodes=2)
    write_listener(plane, backends[0])
    await all_show(envoys, pair, authority)


async def test_k65_reference_before_secret(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    pair = authority.issue("edge")
    write_listener(plane, backends[0])
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await plane.programmed(nodes=2)
    left_out = (await plane.group())["left_out"]
    assert [(entry["type"], entry["name"]) for entry in left_out] == [("lds", LISTENER)]
    assert SECRET in left_out[0]["message"]
    write_secret(plane, pair)
    await all_show(envoys, pair, authority)
    assert not (await plane.group())["left_out"]


async def test_k65_secret_deleted_and_created_again(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    first, second = authority.issue("edge"), authority.issue("edge")
    write_secret(plane, first)
    write_listener(plane, backends[0])
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await all_show(envoys, first, authority)
    for number in range(3):
        (plane.files / "secret.yaml").unlink()
        await until(partial(_misses_secret, plane), within=LIMIT, what="the secret is missed")
        pair = (first, second)[number % 2]
        write_secret(plane, pair)
        await all_show(envoys, pair, authority)


async def _misses_secret(plane: ControlPlane) -> bool:
    left_out = (await plane.group())["left_out"]
    return any(SECRET in (entry["name"], *entry["message"].replace("'", " ").split()) for entry in left_out)


async def test_k65_secret_of_the_wrong_kind_then_right(fleet: Fleet, backends: list[Backend]) -> None:
    authority, plane = Authority(), fleet.tidegate()
    pair = authority.issue("edge")
    wrong = certificate_secret(SECRET, authority.certificate, pair.key)
    write_documents(plane.files / "secret.yaml", [wrong])
    write_listener(plane, backends[0])
    await plane.start()
    envoys = await fleet.both(plane.xds)
    write_secret(plane, pair)
    await all_show(envoys, pair, authority)


async def test_k67_rotation_under_new_connections(fleet: Fleet, backends: list[Backend], tmp_path: Path) -> None:
    authority, plane = Authority(), fleet.tidegate()
    pair = authority.issue("edge")
    write_secret(plane, pair)
    write_listener(plane, backends[0])
    await plane.start()
    envoys = await fleet.both(plane.xds)
    await all_show(envoys, pair, authority)
    urls = await fleet.urls(LISTENER, "https")
    before = [await _listener_changes(envoy) for envoy in envoys]
    async with Load(urls, rate=50, fresh=True, tls=authority.client_context()) as load:
        for _ in range(20):
            started = time.monotonic()
            pair = authority.issue("edge")
            write_secret(plane, pair)
            await all_show(envoys, pair, authority)
            await asyncio.sleep(max(0.0, 0.2 - (time.monotonic() - started)))
    assert load.failed == 0, load.failures()
    assert [await _listener_changes(envoy) for envoy in envoys] == before


async def _listener_changes(envoy: Envoy) -> dict[str, int]:
    return await envoy.stats("listener_manager.listener_(added|modified|removed|in_place_updated)$")
