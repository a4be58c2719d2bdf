"""`tidegate events`: what is kept, then what comes, across a restart of the server."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.conformance.client import SLACK
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable


async def command(server: Restartable, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "xds_server",
        "events",
        "--admin",
        server.plane.admin,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def version_of(running: asyncio.subprocess.Process, group: str) -> Any:
    """The next version of a group that the command tells."""
    assert running.stdout is not None
    async with asyncio.timeout(20 * SLACK):
        while line := await running.stdout.readline():
            event = json.loads(line)
            if event["event"] == "version" and event["group"] == group:
                return event
    raise AssertionError(f"the command has ended: {running.stderr and (await running.stderr.read()).decode()}")


async def test_events_ends_and_with_follow_goes_on_across_a_restart(tmp_path: Path) -> None:
    async with restartable(tmp_path) as server:
        world, other = World(server.files, "one"), World(server.files, "two")
        world.write("a", marked("cds", "a", 1))
        await server.served(world)
        once = await command(server, "-o", "json")
        printed, _ = await asyncio.wait_for(once.communicate(), 20 * SLACK)
        assert once.returncode == 0
        assert "version" in {json.loads(line)["event"] for line in printed.splitlines()}
        following = await command(server, "--follow", "--group", "one", "-o", "json")
        try:
            first = await version_of(following, "one")
            other.write("a", marked("cds", "a", 1))
            world.write("a", marked("cds", "a", 2))
            second = await version_of(following, "one")
            assert second["version"] != first["version"]
            await server.restart()
            world.write("a", marked("cds", "a", 3))
            while (third := await version_of(following, "one"))["version"] == second["version"]:
                pass
            assert int(third["id"]) > 0
        finally:
            following.kill()
            await following.wait()
