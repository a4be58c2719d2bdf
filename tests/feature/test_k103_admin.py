"""K103 on a running server: tokens and TLS of the admin API out of the configuration file, and what is warned about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.conformance.documents import World, marked
from tests.conformance.server import restartable
from tests.support.certificates import Authority
from xds_server.credentials.watched import INTERVAL
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until

TOKENS = {"reader": "planted-reader-0123456789", "operator": "planted-operator-0123456789"}


def _settings(folder: Path) -> dict[str, Any]:
    for role, token in TOKENS.items():
        (folder / role).write_text(token)
    return {"admin": {"tokens": {role: str(folder / role) for role in TOKENS}}}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_k103_tokens_of_the_configuration(tmp_path: Path) -> None:
    async with restartable(tmp_path, _settings(tmp_path)) as server, aiohttp.ClientSession(server.plane.admin) as http:
        world = World(server.files, "g")
        world.write("a", marked("cds", "a", 1))

        async def status(token: str, method: str = "GET", path: str = "/v1/groups/g", **more: Any) -> int:
            async with http.request(method, path, headers=_bearer(token), **more) as response:
                shown.append(await response.text())
                return response.status

        async def there() -> bool:
            return await status(TOKENS["reader"]) == 200

        shown: list[str] = []
        await until(there, within=10, what="the group is there")
        assert await status("wrong") == 401
        assert await status(TOKENS["operator"]) == 200
        write: dict[str, Any] = {"json": {"to": "1", "reason": "try"}, "path": "/v1/groups/g/rollback"}
        assert [await status(TOKENS[role], "POST", **write) for role in TOKENS] == [403, 200]
        assert await status(TOKENS["reader"], path="/v1/audit") == 200
        assert '"actor":"operator"' in shown[-1]
        assert [(await server.request(path))[0] for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3

        # A token that is exchanged: the new one counts, then only the new one.
        (tmp_path / "reader").write_text("planted-newer-0123456789\n")

        async def exchanged() -> bool:
            return await status("planted-newer-0123456789") == 200

        await until(exchanged, within=3 * INTERVAL * 3, what="the new token counts")
        assert await status(TOKENS["reader"]) == 401
        shown.append(server.plane.child.tail(10_000))
        assert "planted-" not in "".join(shown).replace(str(tmp_path), "")


@pytest.mark.parametrize(("how", "warned"), [("open", {"xds", "admin"}), ("with TLS", set())])
async def test_the_warning_about_addresses_that_nothing_protects(
    tmp_path: Path,
    how: str,
    warned: set[str],
) -> None:
    authority = Authority()
    authority.issue("tidegate").write(tmp_path)
    tls = {"tls": {"cert": str(tmp_path / "tls.crt"), "key": str(tmp_path / "tls.key")}} if how == "with TLS" else {}
    plane = ControlPlane(
        tmp_path, settings={"xds": {"address": "0.0.0.0:0", **tls}, "admin": {"address": "0.0.0.0:0", **tls}}
    )
    try:
        await plane.start(ready=False)
        log = plane.child.tail(1000)
        found = [line for line in log.splitlines() if "unprotected_address" in line]
        assert {name for name in ("xds", "admin") if any(f'"{name}"' in line for line in found)} == warned
        if tls:
            port = plane.admin.rpartition(":")[2]
            async with (
                aiohttp.ClientSession() as http,
                http.get(f"https://127.0.0.1:{port}/healthz", ssl=authority.client_context()) as response,
            ):
                assert response.status == 200
    finally:
        await plane.stop()
