"""`tidegate demo` as a user runs it: one round passes, the consumer may be stopped by hand, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.fleet import SLACK
from xds_server.cli.main import app
from xds_server.demo.envoys import EnvoyMissingError, find_envoy
from xds_server.demo.polling import until
from xds_server.demo.processes import Child

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

PROCESSES = 7
"""The demo, Tidegate, two Envoys, the broker, the producer, the consumer."""


@pytest.fixture
async def demo(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Child]:
    """A demo that runs on; its temporary files go below `tmp_path`, which is how its processes are found."""
    command = [sys.executable, "-m", "xds_server", "demo", *getattr(request, "param", ())]
    child = await Child.spawn("demo", command, log=tmp_path / "demo.log", environment={"TMPDIR": str(tmp_path)})
    try:
        await until(partial(_says, child, "failed requests: 0"), within=30 * SLACK, what="the demo has begun")
        yield child
    finally:
        await child.kill()


async def _says(child: Child, word: str) -> bool:
    assert child.returncode is None, child.tail()
    return word in child.tail(100)


def _processes(folder: Path) -> list[int]:
    """The processes in whose environment temporary files go to `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = entry.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in environment:
            found.append(int(entry.parent.name))
    return found


def _temporary_folders(folder: Path) -> list[Path]:
    return list(folder.glob("tidegate-demo-*"))


async def _all_ended(folder: Path) -> bool:
    return not _processes(folder)


async def test_one_round(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xds_server", "demo", "--once"]
    child = await Child.spawn("demo", command, log=tmp_path / "demo.log")
    started = time.monotonic()
    code = await child.wait(within=60 * SLACK)
    text = child.tail(1000)
    assert code == 0, text
    assert time.monotonic() - started < 60 * SLACK
    assert "failed requests: 0" in text
    assert "missing ]" in text
    for step in ("healthy", "degraded", "recovered", "moved", "refused", "repaired"):
        assert re.search(rf"{step} .* ok ", text), text
    assert text.count("after it was due (limit 4 s)") == 2
    assert "degraded (over-threshold), to shop/checkout-lite:80" in text
    assert "minDwell holds for another" in text


@pytest.mark.parametrize("demo", [["--by-hand"]], indirect=True)
async def test_the_consumer_is_stopped_by_hand(demo: Child) -> None:
    consumer, _broker = map(int, re.findall(r"kill -STOP (\d+)", demo.tail(100)))
    os.kill(consumer, signal.SIGSTOP)
    await until(partial(_says, demo, "degraded (over-threshold)"), within=10 * SLACK, what="it degrades")
    os.kill(consumer, signal.SIGCONT)
    await until(partial(_is_back, demo), within=15 * SLACK, what="it comes back")
    await until(partial(_says, demo, "(number 3)"), within=5 * SLACK, what="the version is told")
    assert not re.search("failed requests: [1-9]", demo.tail(100)), demo.tail(100)


async def _is_back(demo: Child) -> bool:
    return "primary (healthy)" in demo.tail(100).rpartition("degraded (over-threshold)")[2]


async def test_interrupt_ends_everything(demo: Child, tmp_path: Path) -> None:
    assert len(_processes(tmp_path)) == PROCESSES
    demo.signal(signal.SIGINT)
    assert await demo.wait(within=20) == 0, demo.tail(50)
    assert not _processes(tmp_path)
    assert not _temporary_folders(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a child to its parent")
async def test_nothing_survives_a_killed_demo(demo: Child, tmp_path: Path) -> None:
    assert len(_processes(tmp_path)) == PROCESSES
    await demo.kill()
    await until(partial(_all_ended, tmp_path), within=5, what="all children are gone")


def test_without_envoy_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(EnvoyMissingError, match="pip install"):
        find_envoy()


def test_one_plot_at_a_time() -> None:
    result = CliRunner().invoke(app, ["demo", "--once", "--by-hand"])
    assert result.exit_code == 2
    assert "leave out --by-hand" in result.output


def test_without_its_kafka_the_message_says_what_to_do() -> None:
    """In a process of its own: modules that are imported anew here would be other ones for all tests that follow."""
    code = "import sys; sys.modules['confluent_kafka'] = None; from xds_server.cli.main import app; app(['demo', '--once'])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1
    assert "pip install tidegate[demo]" in result.stdout + result.stderr
