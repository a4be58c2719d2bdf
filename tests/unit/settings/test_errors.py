"""Faults of a configuration: where they stand, the key's full path, what was found and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.settings.cases import Faults
from xds_server.settings import SettingsError, load


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("xds:\n  adress: x", "tidegate.yaml:2: xds.adress: unknown key; the nearest known key is xds.address"),
        ("sorces: []", "tidegate.yaml:1: sorces: unknown key; the nearest known key is sources"),
        ("settle: 1s", "tidegate.yaml:1: settle: unknown key; the nearest known key is files.settle"),
        ("xds: {level: 1}", "tidegate.yaml:1: xds.level: unknown key; the nearest known key is log.level"),
        ("zzz: 1", "tidegate.yaml:1: zzz: unknown key; the nearest known key is xds"),
        (
            "sources:\n- kind: files\n  path: .\n- kind: files\n  path: .\n  wach: no",
            "tidegate.yaml:6: sources[1].wach: unknown key; the nearest known key is sources[1].watch",
        ),
        (
            "sources: [{kind: push, kubconfig: k}]",
            "tidegate.yaml:1: sources[0].kubconfig: unknown key; the nearest known key is sources[].kubeconfig",
        ),
        (
            "groups:\n- group: g\n  match: {locality: {zoen: z}}",
            (
                "tidegate.yaml:3: groups[0].match.locality.zoen: unknown key;"
                " the nearest known key is groups[0].match.locality.zone"
            ),
        ),
        (
            "observers: {kafka: {clusters: {a: {bootstrap: b, securty: {}}}}}",
            (
                "tidegate.yaml:1: observers.kafka.clusters.a.securty: unknown key;"
                " the nearest known key is observers.kafka.clusters.a.security"
            ),
        ),
        (
            "observers: {kafca: {}}",
            "tidegate.yaml:1: observers.kafca: unknown key; the nearest known key is observers.kafka",
        ),
    ],
)
def test_an_unknown_key_names_its_path_and_the_nearest_known_key(faults: Faults, text: str, wanted: str) -> None:
    assert faults(text) == [wanted]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("xds: {max_streams: many}", 'xds.max_streams: found "many", expected a whole number'),
        ("xds: {max_streams: true}", "xds.max_streams: found true, expected a whole number"),
        ("xds: {max_streams: 0}", "xds.max_streams: found 0, expected 1 or more"),
        ("xds: {max_streams: [1]}", "xds.max_streams: found a list, expected a whole number"),
        ("xds: {max_streams: }", "xds.max_streams: found nothing, expected a whole number"),
        ("degradation: {breaker: {percent: 101}}", "degradation.breaker.percent: found 101, expected 100 or less"),
        (
            "observers: {kafka: {clusters: {}, interval: 20s}}",
            "observers.kafka: found a mapping, expected a ttl of at least interval (20s), better interval + timeout; ttl is 15s",
        ),
        (
            "observers: {prometheus: {url: 'http://p', interval: 2s, ttl: 1s}}",
            "observers.prometheus: found a mapping, expected a ttl of at least interval (2s)",
        ),
        (
            "observers: {kafka: {clusters: {a: {bootstrap: k, security: {password: 8675309}}}}}",
            (
                "observers.kafka.clusters.a.security.password: found something that is not repeated here,"
                " expected a string (a number in quotes)"
            ),
        ),
        (
            "observers: {prometheus: {url: 'http://p', security: {token: 8675309}}}",
            "observers.prometheus.security.token: found something that is not repeated here",
        ),
        ("xds: 5", "xds: found 5, expected a mapping"),
        ("sources: {kind: files}", "sources: found a mapping, expected a list"),
        ("sources: [files]", 'sources[0]: found "files", expected a mapping'),
        ("admin: {hosts: a}", 'admin.hosts: found "a", expected a list'),
        ("sources: [{kind: files, path: a, watch: maybe}]", 'sources[0].watch: found "maybe", expected true or false'),
        ("sources: [{kind: files, path: ''}]", 'sources[0].path: found "", expected a path'),
        ("groups: [{match: {id: 5}, group: g}]", "groups[0].match.id: found 5, expected a string"),
        (
            "groups: [{match: {metadata: {day: 2026-11-30}}, group: g}]",
            "groups[0].match.metadata: found a mapping, expected text, a number, true, false, a list or a mapping for day",
        ),
        ("groups: [{match: {}, group: ''}]", 'groups[0].group: found "", expected a text that is not empty'),
        ("rollout: {strategy: al}", 'rollout.strategy: found "al", expected one of immediate, canary'),
        (
            "files: {settle: soon}",
            'files.settle: found "soon", expected a duration such as 10ms, 5s, 1m30s or 168h (a bare number is seconds)',
        ),
        (
            "xds: {max_request_bytes: 16 apples}",
            (
                'xds.max_request_bytes: found "16 apples",'
                " expected a size such as 512KiB or 16MiB (a bare number is bytes)"
            ),
        ),
        (
            "admin: {address: 19000}",
            "admin.address: found 19000, expected an address as host:port, such as 127.0.0.1:18000 or [::1]:18000",
        ),
        (
            "sources: [{kind: flies}]",
            'sources[0].kind: found "flies", expected one of files, kubernetes, push (nearest: files)',
        ),
        ("sources: [{path: a}]", "sources[0].kind: missing; expected: "),
        ("sources: [{kind: files}]", "sources[0].path: missing; expected: Directory to read"),
        ("xds: {tls: {cert: c}}", "xds.tls.key: missing; expected: PEM file with its private key"),
        ("observers: {prometheus: {url: p}}", 'observers.prometheus.url: found "p", expected a URL such as '),
        ("xds: {auth: {clients: [{groups: [a]}]}}", "xds.auth.clients[0]: found a mapping, expected one of spiffe"),
        (
            "xds: {auth: {clients: [{spiffe: 'spiffe://a/b'}]}, tls: {cert: c, key: k}}",
            "xds: found a mapping, expected xds.tls.client_ca, since xds.auth.clients names certificates",
        ),
        (
            "xds: {auth: {clients: [{spiffe: 'example.org/b'}]}}",
            'xds.auth.clients[0].spiffe: found "example.org/b", expected a SPIFFE ID',
        ),
        ("xds: {max_request_rate: 0}", "xds.max_request_rate: found 0, expected 1 or more"),
        (f"log: {{level: {'x' * 500}}}", f'log.level: found "{"x" * 59}…, expected one of debug'),
    ],
)
def test_a_wrong_value_says_what_was_found_and_expected(faults: Faults, text: str, wanted: str) -> None:
    (line,) = faults(text)
    assert line.startswith(f"tidegate.yaml:1: {wanted}")


def test_every_fault_is_told_at_once_with_its_own_place(faults: Faults) -> None:
    text = "xds:\n  max_streams: 0\n  max_names: 0\n"
    environ = {"TIDEGATE_XDS__ORDER_TIMEOUT": "x", "TIDEGATE_XSD__ADDRESS": "a:1", "TIDEGATE_ADMIN__HOSTS": "[a"}
    lines = faults(text, {"xds": {"max_names": 0}, "log": {"level": "x"}}, environ)
    assert [line.split(": ")[:2] for line in sorted(lines)] == [
        ["TIDEGATE_ADMIN__HOSTS", "admin.hosts"],
        ["TIDEGATE_XDS__ORDER_TIMEOUT", "xds.order_timeout"],
        ["TIDEGATE_XSD__ADDRESS", "xsd"],
        ["command line", "log.level"],
        ["command line", "xds.max_names"],
        ["tidegate.yaml:2", "xds.max_streams"],
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("xds: {", "tidegate.yaml:1:7: broken YAML: "),
        ("xds: {}\nxds: {}", "tidegate.yaml:2:1: broken YAML: found duplicate key"),
        ("a: 1\n---\nb: 2", "tidegate.yaml:2:1: broken YAML: but found another document"),
        ("- a", "tidegate.yaml: expected a mapping at the top"),
        ("text", "tidegate.yaml: expected a mapping at the top"),
        ("xds: {1: a}", "tidegate.yaml:1: the key 1 is no string"),
        ("&all {xds: *all}", "tidegate.yaml:1: an alias stands for something that it is part of"),
        ("a: \x01", "tidegate.yaml: is no YAML text in UTF-8: "),
    ],
)
def test_what_is_no_configuration_file(faults: Faults, text: str, wanted: str) -> None:
    (line,) = faults(text)
    assert line.startswith(wanted)


def test_binary_garbage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tidegate.yaml"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(SettingsError, match="is no YAML text in UTF-8"):
        load(path, {}, {})


def test_a_file_that_is_not_there_or_a_directory(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SettingsError, match=f"{path}: can't be read: {reason}"):
            load(path, {}, {})
