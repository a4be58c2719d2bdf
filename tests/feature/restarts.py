"""A Tidegate with a state directory that is killed, and started again with its sources in any state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.conformance.client import SLACK, Stream
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import Variant
from xds_server.cli.client import Access, Client
from xds_server.demo.control_plane import Json
from xds_server.demo.polling import until

FOLLOWED = ("cds", "eds", "lds", "rds")


@asynccontextmanager
async def keeping(folder: Path, history: Mapping[str, Any] | None = None) -> AsyncIterator[Restartable]:
    """Run one whose state lies in `folder`/state."""
    async with restartable(folder, {"state_dir": str(folder / "state"), "history": dict(history or {})}) as server:
        yield server


def contents_of(folder: Path) -> list[bytes]:
    """What all files of its state hold."""
    return [path.read_bytes() for path in (folder / "state").rglob("*") if path.is_file()]


def segments_of(folder: Path) -> list[Path]:
    """The files with snapshots, oldest first."""
    return sorted((folder / "state").rglob("*.snapshots"))


async def on_disk(server: Restartable, group: str = "default") -> Json:
    """Wait until what is served to a group is stored, and return it: a crash loses the last moment."""

    async def stored() -> Json | None:
        found: Json = await server.get(f"/v1/groups/{group}")
        return found if found["stored"] else None

    return await until(stored, within=5 * SLACK, what=f"what {group} is served is on disk", interval=0.02)


async def send(server: Restartable, method: str, *path: str, **body: object) -> Json:
    """Ask its admin API for a change."""
    answer: Json = json.loads(
        await asyncio.to_thread(Client(Access(server.plane.admin)).send, method, *path, body=body)
    )
    return answer


def take_away(server: Restartable) -> Path:
    """Move its files where it does not look; where they are."""
    files = server.plane.files
    return files.rename(files.with_name("away"))


def bring_back(server: Restartable, away: Path) -> None:
    """Move its files back."""
    away.rename(server.plane.files)


def come_back(stream: Stream, before: Stream) -> None:
    """Ask for what the stream before asked for, and say what it held, as Envoy does after a cut."""
    stream.holds = {key: dict(held) for key, held in before.holds.items()}
    for key in FOLLOWED:
        names = before.names.get(key, set())
        if stream.variant is Variant.SOTW:
            stream.ask(key, *names, version=before.of(key)[-1].version)
        else:
            versions = {name: each for response in before.of(key) for name, each in response.versions.items()}
            stream.ask(key, *names, initial={name: versions[name] for name in before.names_of(key)})
