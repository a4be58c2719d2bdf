"""`load`: the whole documented schema, and which of file, environment and flags counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.settings.cases import WHOLE, Load
from xds_server.settings import Settings, load
from xds_server.settings.kubernetes import KubernetesEntry
from xds_server.settings.sources import FilesEntry, PushEntry


def test_the_whole_schema_is_accepted(load_text: Load) -> None:
    settings = load_text(WHOLE)
    assert settings.xds.max_request_bytes == 16 << 20
    assert settings.history.age == 604_800
    assert settings.rollout.canary.nodes == "10%"
    assert settings.xds.tls is not None
    assert settings.xds.tls.client_ca == Path("ca.pem")
    assert settings.observers.kafka is not None
    assert settings.observers.kafka.clusters["default"].brokers == ["k:9092", "[::1]:9093"]
    assert [type(entry) for entry in settings.sources] == [FilesEntry, KubernetesEntry, PushEntry]


def test_defaults() -> None:
    settings = load(None, {}, {})
    assert settings == Settings()
    assert (settings.xds.address, settings.admin.address) == ("127.0.0.1:18000", "127.0.0.1:19000")
    assert (settings.xds.coalesce.quiet, settings.xds.coalesce.max) == (0.01, 0.1)
    assert (settings.xds.order_timeout, settings.xds.removal_timeout) == (5, 15)
    assert (settings.files.settle, settings.sources) == (0.5, ())


def test_flags_beat_environment_beats_file_beats_defaults(load_text: Load) -> None:
    text = "xds: {address: 'file:1', max_streams: 1, max_names: 1}"
    environ = {"TIDEGATE_XDS__ADDRESS": "env:1", "TIDEGATE_XDS__MAX_STREAMS": "2"}
    settings = load_text(text, {"xds": {"address": "flag:1"}}, environ)
    assert settings.xds.address == "flag:1"
    assert settings.xds.max_streams == 2
    assert settings.xds.max_names == 1
    assert settings.xds.order_timeout == 5


def test_a_flag_that_was_not_given_changes_nothing(load_text: Load) -> None:
    flags = {"xds": {"address": None, "max_streams": 7}, "admin": {"address": None}, "state_dir": None}
    settings = load_text("xds: {address: 'file:1'}\nstate_dir: here", flags)
    assert settings.xds.address == "file:1"
    assert settings.xds.max_streams == 7
    assert settings.state_dir == Path("here")
    assert "admin" not in settings.model_fields_set


def test_a_list_replaces_a_list(load_text: Load) -> None:
    text = "sources: [{kind: push}, {kind: files, path: a}]"
    settings = load_text(text, environ={"TIDEGATE_SOURCES": '[{"kind": "files", "path": "b"}]'})
    assert settings.sources == (FilesEntry(kind="files", path=Path("b")),)


def test_the_environment_reaches_every_depth(load_text: Load) -> None:
    environ = {
        "TIDEGATE_STATE_DIR": "/state",
        "TIDEGATE_XDS__COALESCE__QUIET": "20ms",
        "TIDEGATE_XDS__TLS__CERT": "c",
        "TIDEGATE_XDS__TLS__KEY": "k",
        "TIDEGATE_ADMIN__ADDRESS": "[::1]:0",
        "TIDEGATE_ADMIN__HOSTS": '["a"]',
        "TIDEGATE_LOG": '{"level": "error"}',
        "TIDEGATE_PREFLIGHT__ENABLED": "true",
        "TIDEGATE_OBSERVERS__KAFKA__CLUSTERS__DEFAULT__BOOTSTRAP": "k:9092",
        "tidegate_files__settle": "1s",
    }
    settings = load_text("", environ=environ)
    assert settings.state_dir == Path("/state")
    assert settings.xds.coalesce.quiet == 0.02
    assert settings.xds.tls is not None
    assert settings.admin.address.host == "::1"
    assert settings.admin.hosts == ("a",)
    assert settings.log.level == "error"
    assert settings.preflight.enabled
    assert settings.observers.kafka is not None
    assert settings.observers.kafka.clusters["default"].bootstrap == "k:9092"
    assert settings.files.settle == 1


def test_variables_of_others_are_left_alone(load_text: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Kubernetes puts into a pod beside Services named `tidegate` and `tidegate-xds`.
    others = {
        "TIDEGATE_PORT": "tcp://10.0.0.1:18000",
        "TIDEGATE_SERVICE_HOST": "10.0.0.1",
        "TIDEGATE_XDS_PORT_18000_TCP": "tcp://10.0.0.1:18000",
        "TIDEGATE_STATE_DIR": "",
        "XDS__ADDRESS": "x",
    }
    monkeypatch.setenv("TIDEGATE_XDS__ADDRESS", "the-process:1")
    assert load_text("", environ=others) == Settings()


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "xds:\nadmin:\n", "xds: {coalesce: }\n", "\ufeffxds: {}\n"]
)
def test_an_empty_file_or_section_is_the_defaults(load_text: Load, text: str) -> None:
    assert load_text(text) == Settings()


def test_yaml_is_read_as_version_1_2(load_text: Load) -> None:
    settings = load_text("sources: [&a {kind: files, path: no, watch: off}, *a]\nxds: {max_streams: !!int '010'}")
    assert settings.sources == (FilesEntry(kind="files", path=Path("no"), watch=False),) * 2
    assert settings.xds.max_streams == 10


def test_merge_keys_are_followed(load_text: Load) -> None:
    text = "observers: {kafka: &k {interval: 9s}, prometheus: {<<: *k, url: 'http://p'}}"
    prometheus = load_text(text).observers.prometheus
    assert prometheus is not None
    assert prometheus.interval == 9


def test_settings_are_frozen() -> None:
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.xds.max_streams = 1  # type: ignore[misc]
