"""Variables that begin with TIDEGATE_ and are no settings: what was a slip is an error, the rest is let be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.settings.cases import Load
from xds_server.settings import Settings, SettingsError
from xds_server.settings.strays import ignored, slips

_ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TIDEGATE_STATEDIR", "TIDEGATE_STATE_DIR"),
        ("TIDEGATE_XDS_ADDRESS", "TIDEGATE_XDS__ADDRESS"),
        ("tidegate_xds_adress", "TIDEGATE_XDS__ADDRESS"),
        ("TIDEGATE_SOURCE", "TIDEGATE_SOURCES"),
        ("TIDEGATE_LOG_LEVEL", "TIDEGATE_LOG__LEVEL"),
        ("TIDEGATE_XDS_TLS_CLIENT_CA", "TIDEGATE_XDS__TLS__CLIENT_CA"),
    ],
)
def test_a_slip_names_the_variable_that_was_meant(load_text: Load, name: str, meant: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_text("", environ={name: "x"})
    assert caught.value.lines == (f"{name}: unknown variable; the nearest known one is {meant}",)


def test_a_slip_is_told_with_all_other_faults(load_text: Load) -> None:
    with pytest.raises(SettingsError) as caught:
        load_text("xds: {max_names: 0}", environ={"TIDEGATE_STATEDIR": "x"})
    assert [Path(line.split(": ")[0]).name for line in caught.value.lines] == ["TIDEGATE_STATEDIR", "tidegate.yaml:1"]


@pytest.mark.parametrize(
    "name",
    [
        "TIDEGATE_PORT",
        "TIDEGATE_SERVICE_HOST",
        "TIDEGATE_SERVICE_PORT_XDS",
        "TIDEGATE_PORT_18000_TCP",
        "TIDEGATE_PORT_18000_TCP_ADDR",
        "TIDEGATE_XDS_PORT",
        "TIDEGATE_XDS_SERVICE_PORT",
        "TIDEGATE_ADMIN_PORT_19000_TCP_PROTO",
        "TIDEGATE_IMAGE_DIGEST",
    ],
)
def test_variables_of_others_stop_no_start(load_text: Load, name: str) -> None:
    environ = {name: "x"}
    assert load_text("", environ=environ) == Settings()
    assert ignored(environ) == [name]


@pytest.mark.parametrize("name", ["TIDEGATE_STATE_DIR", "TIDEGATE_XDS__ADDRESS", "TIDEGATE_ADMIN_URL", "TIDEGATE", "X"])
def test_what_is_known_or_not_ours_is_not_told(name: str) -> None:
    assert (slips({name: "x"}), ignored({name: "x"})) == ([], [])
    assert (slips({"TIDEGATE_STATEDIR": ""}), ignored({"TIDEGATE_PORT": ""})) == ([], [])


def test_every_variable_that_is_read_somewhere_is_known() -> None:
    """Else a server that is started beside it would warn, or not start."""
    files = [each for folder in ("xds_server", "tests", "bench", "scripts") for each in (_ROOT / folder).rglob("*.py")]
    texts = [each.read_text() for each in files if each.parent != Path(__file__).parent]
    names = {name for text in texts for name in re.findall(r'f?"(TIDEGATE_[A-Z0-9_]+)', text)}
    assert {"TIDEGATE_ADMIN_URL", "TIDEGATE_TEST_SLACK", "TIDEGATE_ENVOY_"} <= names
    environ = dict.fromkeys(names, "x")
    assert (slips(environ), ignored(environ)) == ([], [])
