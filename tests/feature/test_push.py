"""Push, over the real server: clients follow it, it outlives kills, and a late owner takes nothing from a fleet (K20)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.conformance.documents import marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import BOTH, Variant
from tests.feature.restarts import send
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.polling import until
from xds_server.demo.world import Document
from xds_server.demo.yaml_files import write_documents

pytestmark = pytest.mark.timeout(120)


class Owner:
    """A program that pushes to the group `default`."""

    def __init__(self, server: Restartable, name: str, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._name = name
        self._session = session

    async def send(self, method: str, version: str, *documents: Document, status: int = 200, **more: Any) -> Any:
        """The answer to a request."""
        body = {"version": version, "resources": documents, **more}
        url = f"{self._server.plane.admin}/v1/push/{self._name}/default"
        async with self._session.request(method, url, json=body) as response:
            assert response.status == status, await response.text()
            return await response.json(content_type=None)


@pytest_asyncio.fixture(loop_scope="session")
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as found:
        yield found


def settings(folder: Path, *sources: dict[str, Any], is_stored: bool = True) -> dict[str, Any]:
    """The configuration of a server with a push source between these, and a state directory."""
    stored = {"state_dir": str(folder / "state")} if is_stored else {}
    return {"sources": [*sources, {"kind": "push"}], **stored}


def files(folder: Path) -> dict[str, Any]:
    return {"kind": "files", "path": str(folder / "files")}


@pytest.mark.parametrize("variant", BOTH)
async def test_clients_follow_a_push(tmp_path: Path, session: aiohttp.ClientSession, variant: Variant) -> None:
    async with restartable(tmp_path, settings(tmp_path)) as server, server.clients() as clients:
        owner = Owner(server, "billing", session)
        await owner.send("PUT", "1", marked("cds", "a", 1), marked("cds", "b", 1))
        stream = await clients.stream(variant)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1, "b": 1})
        await owner.send("PUT", "1", marked("cds", "a", 1))
        await owner.send("PUT", "2", marked("cds", "a", 1), marked("cds", "b", 1))
        await stream.quiet(seconds=1)
        await owner.send("PATCH", "3", marked("cds", "b", 2), remove=[{"type": "cds", "name": "a"}])
        await stream.holding("cds", {"b": 2})


async def test_k20_after_a_kill_a_set_is_served_as_before_until_its_owner_comes_back(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    async with restartable(tmp_path, settings(tmp_path, files(tmp_path))) as server:
        one, two = Owner(server, "one", session), Owner(server, "two", session)
        write_documents(server.files / "f.yaml", [marked("cds", "f", 1)])
        await one.send("PUT", "1", marked("cds", "a", 1), marked("sds", "s", 1))
        before = await two.send("PUT", "1", marked("cds", "b", 1), lease_s=3600)
        await until(lambda: _has(server, cds=3), within=10, what="the file is served")
        before = await server.get("/v1/groups/default")
        await server.restart()
        async with server.clients() as clients:
            stream = await clients.stream(Variant.DELTA)
            stream.ask("cds")
            await stream.holding("cds", {"a": 1, "b": 1, "f": 1})
            assert (await server.get("/v1/groups/default"))["version"] == before["version"]
            sources = {each["name"]: each for each in (await server.get("/v1/sources"))["sources"]}
            assert sources["push"]["synced"]
            # One owner comes back before the other; the names of both are still held.
            assert not (await one.send("PATCH", "1"))["changed"]
            await two.send("PATCH", "2", marked("cds", "b", 2))
            await stream.holding("cds", {"a": 1, "b": 2, "f": 1})
            conflicts = (await two.send("PATCH", "3", marked("cds", "a", 2), status=409))["conflicts"]
            assert conflicts == [{"type": "cds", "name": "a", "holder": "one"}]
            assert (await server.get("/v1/groups/default"))["counts"]["sds"] == 1, "what was not stored stays, too"
            renewed = await one.send("PATCH", "1")
            assert [each["reason"] for each in renewed["problems"]] == ["NotStored"]
            whole = await one.send("PUT", "1", marked("cds", "a", 1), marked("sds", "s", 1))
            assert (whole["changed"], whole["problems"]) == (True, [])
            newcomer = await clients.stream(Variant.SOTW)
            newcomer.ask("sds", "s")
            await newcomer.holding("sds", {"s": 1})


async def _has(server: Restartable, **counts: int) -> bool:
    found = (await server.get("/v1/groups/default")).get("counts", {})
    return all(found.get(key) == count for key, count in counts.items())


async def test_k20_without_a_state_directory_nothing_is_sent_before_the_expected_owners_have_pushed(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    expecting = {"sources": [{"kind": "push", "expect": ["billing"]}]}
    plane = ControlPlane(tmp_path, settings=expecting)
    try:
        await plane.start(ready=False)
        server = Restartable(plane)
        async with server.clients() as clients:
            stream = await clients.stream(Variant.SOTW)
            stream.ask("cds")
            await stream.quiet(seconds=1)
            assert (await server.request("/readyz"))[0] == 503
            await Owner(server, "billing", session).send("PUT", "1", marked("cds", "a", 1))
            await stream.holding("cds", {"a": 1})
            assert (await server.request("/readyz"))[0] == 200
    finally:
        await plane.stop()


@pytest.mark.parametrize("first", ["files", "push"])
async def test_a_name_that_a_file_declares_goes_by_the_order_of_the_sources_and_is_taken_over_when_it_is_free(
    tmp_path: Path, session: aiohttp.ClientSession, first: str
) -> None:
    order: Sequence[dict[str, Any]] = [files(tmp_path), {"kind": "push"}]
    chosen = {"sources": list(order if first == "files" else reversed(order))}
    async with restartable(tmp_path, chosen) as server, server.clients() as clients:
        write_documents(server.files / "f.yaml", [marked("cds", "a", 1)])
        await until(lambda: _has(server, cds=1), within=10, what="the file is served")
        answer = await Owner(server, "billing", session).send("PUT", "1", marked("cds", "a", 2))
        stream = await clients.stream(Variant.DELTA)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1 if first == "files" else 2})
        reasons = [each["reason"] for each in answer["problems"]]
        assert reasons == (["DuplicateName"] if first == "files" else [])
        (server.files / "f.yaml").unlink()
        await stream.holding("cds", {"a": 2})


async def test_a_lease_that_is_not_renewed(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    async with restartable(tmp_path, settings(tmp_path)) as server, server.clients() as clients:
        owner = Owner(server, "billing", session)
        await owner.send("PUT", "1", marked("cds", "a", 1), lease_s=2)
        stream = await clients.stream(Variant.DELTA)
        stream.ask("cds")
        await stream.holding("cds", {"a": 1})
        for _ in range(4):
            await asyncio.sleep(0.7)
            await owner.send("PATCH", "1")
        await stream.holding("cds", {"a": 1})
        await stream.holding("cds", {}, within=5)
        (source,) = (await server.get("/v1/sources"))["sources"]
        assert [each["reason"] for each in source["errors"]] == ["LeaseExpired"]
        entry = next(each for each in (await server.get("/v1/audit"))["entries"] if each["action"] == "push")
        assert (entry["actor"], entry["target"], entry["reason"]) == (
            "tidegate",
            "billing/default",
            "its lease ran out",
        )


async def test_a_push_to_a_held_group_says_that_it_is_held(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    async with restartable(tmp_path, settings(tmp_path)) as server:
        owner = Owner(server, "billing", session)
        await owner.send("PUT", "1", marked("cds", "a", 1))
        first = await server.get("/v1/groups/default")
        await send(server, "POST", "v1", "groups", "default", "rollback", to=1, reason="slow")
        answers = [
            await owner.send("PUT", "2", marked("cds", "a", 2), marked("cds", "b", 1)),
            await owner.send("PATCH", "3", remove=[{"type": "cds", "name": "b"}]),
            await owner.send("PATCH", "3"),
            await owner.send("DELETE", ""),
        ]
        for answer in answers:
            (problem,) = answer["problems"]
            assert problem["reason"] == "Held"
            assert f"held at version {first['version']} (seq 1) by 127.0.0.1: slow" in problem["message"]
        flowing = await owner.send("PUT", "4", marked("eds", "e", 1))
        assert flowing["problems"] == [], "endpoints are not held back"
        await owner.send("PUT", "5", marked("cds", "a", 5))
        await send(server, "DELETE", "v1", "groups", "default", "rollback", reason="repaired")
        assert (await owner.send("PATCH", "5"))["problems"] == []


@pytest.mark.parametrize(
    ("switches", "reason"),
    [({"read_only": {"reason": "slow"}}, "ReadOnly"), ({"freeze": [{"reason": "slow"}]}, "Frozen")],
    ids=["read-only", "frozen"],
)
async def test_a_push_that_a_switch_keeps_back_says_so_and_is_in_force_after_it(
    tmp_path: Path, session: aiohttp.ClientSession, switches: dict[str, Any], reason: str
) -> None:
    async with restartable(tmp_path, settings(tmp_path)) as server:
        owner = Owner(server, "billing", session)
        await owner.send("PUT", "1", marked("cds", "a", 1))
        await send(server, "PUT", "v1", "switches", **switches)
        answer = await owner.send("PUT", "2", marked("cds", "a", 2))
        assert [each["reason"] for each in answer["problems"]] == [reason]
        assert "by 127.0.0.1: slow" in answer["problems"][0]["message"]
        kept_back = await server.get("/v1/groups/default")
        assert kept_back["seq"] == 1
        await send(server, "PUT", "v1", "switches", read_only=None, freeze=[])
        after = await server.get("/v1/groups/default")
        assert (after["seq"], after["version"]) == (2, kept_back["behind"]["version"])
        assert (await owner.send("PATCH", "2"))["problems"] == []
