"""Keys whose feature has not come: they are named when they were configured, and only then."""

from __future__ import annotations

from tests.unit.settings.cases import WHOLE, Load
from xds_server.settings import Settings, without_effect
from xds_server.settings.later import LATER
from xds_server.settings.schema import keys

NOW = """
xds: {address: "a:1", max_streams: 1, max_request_bytes: 1, max_names: 1, coalesce: {quiet: 1, max: 1},
  order_timeout: 1, removal_timeout: 1, max_request_rate: 1, tls: {cert: a, key: a, client_ca: a},
  auth: {clients: [{spiffe: "spiffe://a/b", groups: [a]}]}}
admin: {address: "a:2", tokens: {reader: r, operator: o}, tls: {cert: a, key: a}, hosts: [a]}
sources: [{kind: files, path: a, watch: false},
  {kind: kubernetes, kubeconfig: k, context: c, namespaces: [a], label_selector: a=b}]
kubernetes: {watch_timeout: 1, max_concurrent_reconciles: 1, deprogram_timeout: 1, status: {lag_interval: 1},
  leader_election: {enabled: true, name: a, namespace: a, lease_duration: 15, renew_deadline: 10, retry_period: 2}}
state_dir: a
files: {settle: 1}
preflight: {enabled: true, envoy: envoy, timeout: 1}
groups: [{match: {}, group: a}]
history: {count: 1, age: 1, secrets: encrypt, key_file: a}
log: {level: info, format: json}
observers: {kafka: {clusters: {default: {bootstrap: "k:9092"}}, interval: 1, timeout: 1, ttl: 1, stall_samples: 1},
  prometheus: {url: "http://p:9090", max_age: 1, concurrency: 1, security: {token_file: t}}}
degradation: {breaker: {percent: 1, window: 1, minimum: 1}}
"""


def test_nothing_is_said_about_what_has_effect(load_text: Load) -> None:
    assert without_effect(load_text(NOW)) == []
    assert without_effect(Settings()) == []


def test_every_later_key_of_the_whole_schema_is_named(load_text: Load) -> None:
    named = without_effect(load_text(WHOLE))
    of_sources = {"sources[1].gateway_class_controller"}
    assert set(named) == {each for each in LATER if not each.startswith("sources")} | of_sources
    assert named.index("xds.advertise") < named.index("rollout") < named.index("provision")


def test_a_default_that_was_written_is_named_too(load_text: Load) -> None:
    assert without_effect(load_text("provision: {enabled: false}")) == ["provision"]
    assert without_effect(load_text("", {"xds": {"advertise": "a:1"}}, {"TIDEGATE_PROVISION__IMAGE": "a"})) == [
        "xds.advertise",
        "provision",
    ]


def test_the_table_names_only_keys_that_there_are() -> None:
    assert {key.path for key in keys(Settings)} >= LATER
