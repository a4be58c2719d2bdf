"""`serve`: what the flags make of the settings."""

from __future__ import annotations

import re
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
