"""The section `observers.kafka`: addresses of brokers, and how to log in."""

from __future__ import annotations

import json

import pytest

from tests.unit.settings.cases import Faults, Load
from xds_server.settings.observers import KafkaCluster

AT = "tidegate.yaml:1: observers.kafka.clusters.a"


def cluster(keys: str) -> str:
    return f"observers: {{kafka: {{clusters: {{a: {{{keys}}}}}}}}}"


def loaded(load_text: Load, keys: str) -> KafkaCluster:
    kafka = load_text(cluster(keys)).observers.kafka
    assert kafka is not None
    return kafka.clusters["a"]


def test_brokers_are_taken_apart(load_text: Load) -> None:
    found = loaded(load_text, 'bootstrap: "k-1:19092, k-2, [::1]:9094, [::1]"')
    assert [(each.host, each.port) for each in found.brokers] == [
        ("k-1", 19092),
        ("k-2", 9092),
        ("::1", 9094),
        ("::1", 9092),
    ]


@pytest.mark.parametrize("text", ["k:", "k:0", "a b", ",", "k:9092,", "http://k:9092"])
def test_what_is_no_broker_is_refused(faults: Faults, text: str) -> None:
    (line,) = faults(cluster(f'bootstrap: "{text}"'))
    assert line == (f'{AT}.bootstrap: found "{text}", expected host:port of a broker, several separated by commas')


@pytest.mark.parametrize(
    ("security", "wanted"),
    [
        ("protocol: SASL_SSL", "username and one of password_file, password with protocol SASL_SSL"),
        (
            "protocol: SASL_SSL, username: u, password: p, password_file: f",
            "username and one of password_file, password with protocol SASL_SSL",
        ),
        ("username: u", "protocol SASL_SSL or SASL_PLAINTEXT with username"),
        ("protocol: SSL, mechanism: PLAIN", "protocol SASL_SSL or SASL_PLAINTEXT with mechanism"),
        ("ca: c", "protocol SSL or SASL_SSL with ca"),
        ("protocol: SSL, cert: c", "cert and key together"),
    ],
)
def test_a_login_that_does_not_fit_is_refused(faults: Faults, security: str, wanted: str) -> None:
    (line,) = faults(cluster(f"bootstrap: k, security: {{{security}}}"))
    assert line == f"{AT}.security: found a mapping, expected {wanted}"


@pytest.mark.parametrize("mechanism", ["OAUTHBEARER", "GSSAPI"])
def test_other_mechanisms_are_named_as_not_supported(faults: Faults, mechanism: str) -> None:
    (line,) = faults(cluster(f"bootstrap: k, security: {{protocol: SASL_SSL, mechanism: {mechanism}}}"))
    assert line == (
        f'{AT}.security.mechanism: found "{mechanism}", expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512'
    )


def test_a_password_is_shown_nowhere(load_text: Load) -> None:
    settings = load_text(cluster("bootstrap: k, security: {protocol: SASL_SSL, username: u, password: planted-secret}"))
    assert "planted-secret" not in json.dumps(settings.model_dump(mode="json")) + repr(settings)
