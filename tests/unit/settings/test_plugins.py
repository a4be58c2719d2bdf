"""Plug-ins: kinds of sources and observers that another distribution adds by entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.settings.cases import Faults, Load
from xds_server.settings.sources import PlugInEntry

ENTRY_POINTS = """\
[tidegate.sources]
consul = somewhere:Source
[tidegate.observers]
redis = somewhere:Observer
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with one plug-in of each sort, whose code does not even exist."""
    info = tmp_path / "site" / "plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(info.parent))


@pytest.mark.usefixtures("installed")
def test_a_plug_in_keeps_its_own_keys(load_text: Load) -> None:
    settings = load_text("sources: [{kind: consul, url: 'http://c', deep: {a: [1]}}]\nobservers: {redis: {ttl: soon}}")
    (entry,) = settings.sources
    assert isinstance(entry, PlugInEntry)
    assert (entry.kind, entry.options) == ("consul", {"url": "http://c", "deep": {"a": [1]}})
    assert settings.observers.plug_ins == {"redis": {"ttl": "soon"}}


@pytest.mark.usefixtures("installed")
def test_the_nearest_kind_may_be_a_plug_in(faults: Faults) -> None:
    assert faults("sources: [{kind: consol}]") == [
        (
            'tidegate.yaml:1: sources[0].kind: found "consol",'
            " expected one of consul, files, kubernetes, push (nearest: consul)"
        )
    ]
    assert faults("observers: {radis: {}}") == [
        "tidegate.yaml:1: observers.radis: unknown key; the nearest known key is observers.redis"
    ]


def test_a_plug_in_that_is_not_installed_is_unknown(faults: Faults) -> None:
    (line,) = faults("sources: [{kind: consul}]")
    assert "expected one of files, kubernetes, push" in line
