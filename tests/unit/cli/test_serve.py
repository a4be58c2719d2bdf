"""`serve`: what the flags make of the settings."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command
from xds_server.settings import Settings

Runs = list[tuple[Settings, Path | None]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """What would have been run."""
    made: Runs = []

    def run(settings: Settings, address_file: Path | None = None) -> None:
        made.append((settings, address_file))

    monkeypatch.setattr("xds_server.cli.serving.run", run)
    for name in ("TIDEGATE_XDS__ADDRESS", "TIDEGATE_SOURCES"):
        monkeypatch.delenv(name, raising=False)
    return made


def test_without_flags_all_is_default(tidegate: Command, runs: Runs) -> None:
    tidegate("serve")
    assert runs == [(Settings(), None)]


def test_flags_win_over_the_environment_and_the_file(
    tidegate: Command, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "tidegate.yaml"
    config.write_text(
        "xds: {address: '127.0.0.1:1', max_streams: 7}\nadmin: {address: '127.0.0.1:2'}\n"
        "sources: [{kind: files, path: a}]\nlog: {level: error, format: json}\n"
    )
    monkeypatch.setenv("TIDEGATE_XDS__ADDRESS", "127.0.0.1:3")
    monkeypatch.setenv("TIDEGATE_LOG__LEVEL", "warning")
    tidegate(
        *("serve", "--config", str(config), "--admin-address", "127.0.0.1:4", "--state-dir", "state"),
        *("--files", "b", "--files", "c", "--log-level", "debug", "--address-file", "addresses.json"),
    )
    ((settings, address_file),) = runs
    assert (settings.xds.address, settings.xds.max_streams) == ("127.0.0.1:3", 7)
    assert settings.admin.address == "127.0.0.1:4"
    assert settings.state_dir == Path("state")
    assert (settings.log.level, settings.log.format) == ("debug", "json")
    assert [getattr(each, "path", None) for each in settings.sources] == [Path("a"), Path("b"), Path("c")]
    assert address_file == Path("addresses.json")


def test_a_wrong_configuration_is_told_and_not_run(tidegate: Command, runs: Runs, tmp_path: Path) -> None:
    config = tmp_path / "tidegate.yaml"
    config.write_text("xds: {adress: '127.0.0.1:1'}\n")
    result = tidegate("serve", "--config", str(config), "--xds-address", "nonsense", code=1)
    assert re.search(r"tidegate: .*tidegate.yaml:1.*xds.adress: unknown key", result.stderr)
    assert "command line" in result.stderr
    assert runs == []
    assert "can't" in tidegate("serve", "--config", str(tmp_path / "nowhere.yaml"), code=1).stderr


def test_an_address_in_use_is_one_line(tidegate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(settings: Settings, address_file: Path | None = None) -> None:
        raise OSError("address already in use")

    monkeypatch.setattr("xds_server.cli.serving.run", run)
    assert tidegate("serve", code=1).stderr == "tidegate: address already in use\n"


@pytest.fixture
def taken() -> Iterator[str]:
    """An address in use."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield f"127.0.0.1:{other.getsockname()[1]}"


FREE = ("--xds-address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--xds-address", "TAKEN"), "xds.address: can't listen on TAKEN"),
        (("--admin-address", "TAKEN"), "admin.address: can't listen on TAKEN: .*in use"),
        (("--admin-address", "203.0.113.1:19000"), "admin.address: can't listen on 203.0.113.1:19000"),
        (("--admin-address", "no.such.host.invalid:0"), "admin.address: can't listen on no.such.host.invalid:0"),
        (("--address-file", "/no/such/folder/file"), "--address-file: can't write /no/such/folder/file: No such"),
    ],
)
def test_what_can_not_be_opened_is_one_line(taken: str, tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    """In a process of its own, since it sets up logging and handles signals."""
    given = [each.replace("TAKEN", taken) for each in flags]
    command = [sys.executable, "-m", "xds_server", "serve", *FREE, *given, "--log-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    told = [line for line in done.stderr.splitlines() if not line.startswith(("{", "E0", "I0", "W0"))]
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (line,) = [line for line in told if line.startswith("tidegate: ")]
    assert re.match(f"tidegate: {words.replace('TAKEN', taken)}", line)


def test_a_hangup_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    """`nohup` has it ignored."""
    serve = [sys.executable, "-m", "xds_server", "serve", *FREE, "--log-format", "json"]
    command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *serve, "--files", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if '"ready"' in line:
                break
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.terminate()
        assert process.wait(30) == 0


def test_the_log_names_every_problem_and_what_is_left_out(tmp_path: Path) -> None:
    """A second broken file, too, and what does not resolve; each once."""
    cluster = '"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: ghost\ntype: EDS\n'
    eds = "eds_cluster_config: {eds_config: {ads: {}}}\n"
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text("b: [")
    (tmp_path / "c.yaml").write_text(cluster + eds)
    command = [sys.executable, "-m", "xds_server", "serve", *FREE, "--log-format", "json", "--files", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        seen: list[dict[str, object]] = []
        for line in process.stderr:
            seen.append(json.loads(line))
            if {"left_out", "ready", "source"} <= {each["event"] for each in seen}:
                break
        process.terminate()
        seen += [json.loads(line) for line in process.stderr]
    problems = [each for each in seen if each["event"] == "source_problem"]
    assert [Path(str(each["path"])).name for each in problems] == ["a.yaml", "b.yaml"]
    (left_out,) = [each for each in seen if each["event"] == "left_out"]
    assert (left_out["name"], left_out["reason"], left_out["level"]) == ("ghost", "NoAssignment", "warning")
