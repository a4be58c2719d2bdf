"""What is said about a Kubernetes cluster: scoping, and the times of leader election."""

from __future__ import annotations

import pytest

from tests.unit.settings.cases import Faults, Load
from xds_server.settings.kubernetes import KubernetesEntry


def _entry(load_text: Load, text: str) -> KubernetesEntry:
    (entry,) = load_text(f"sources: [{{kind: kubernetes, {text}}}]").sources
    assert isinstance(entry, KubernetesEntry)
    return entry


@pytest.mark.parametrize(
    "selector",
    ["a=b", "a", "!a", "a!=b", "a==b", "a in (b, c)", "a notin (b)", "tidegate.dev/tier=, b in (x),!c", " a = b , c "],
)
def test_label_selectors_that_the_api_server_takes(load_text: Load, selector: str) -> None:
    assert _entry(load_text, f"label_selector: '{selector}'").label_selector == selector


@pytest.mark.parametrize("selector", ["", "a b", "=b", "a in b", "a in (b", "a,,b", "a=b=c", "a/b/c", "ä=b"])
def test_what_is_no_label_selector(faults: Faults, selector: str) -> None:
    (line,) = faults(f'sources: [{{kind: kubernetes, label_selector: "{selector}"}}]')
    assert "sources[0].label_selector: found" in line
    assert line.endswith("expected a label selector such as team=shop or tier in (edge, inner)")


def test_a_namespace_is_named_as_namespaces_are(faults: Faults) -> None:
    (line,) = faults("sources: [{kind: kubernetes, namespaces: [shop, Shop]}]")
    assert 'sources[0].namespaces[1]: found "Shop", expected the name of a namespace' in line


def test_all_namespaces_are_meant_by_naming_none(faults: Faults, load_text: Load) -> None:
    (line,) = faults("sources: [{kind: kubernetes, namespaces: []}]")
    assert "sources[0].namespaces: found" in line
    assert "at least 1" in line
    assert _entry(load_text, "label_selector: a").namespaces == ()


def test_there_is_one_cluster_at_most(faults: Faults) -> None:
    (line,) = faults("sources: [{kind: kubernetes}, {kind: files, path: a}, {kind: kubernetes, context: b}]")
    assert line.endswith("sources: found a list, expected at most one entry of kind kubernetes")


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("lease_duration: 10s", "a lease_duration of more than renew_deadline"),
        ("lease_duration: 15500ms", "a lease_duration of whole seconds"),
        ("renew_deadline: 2s", "a renew_deadline of more than 1.2 times retry_period"),
    ],
)
def test_a_leader_stops_to_write_before_another_begins(faults: Faults, times: str, expected: str) -> None:
    (line,) = faults(f"kubernetes: {{leader_election: {{{times}}}}}")
    assert line.endswith(f"kubernetes.leader_election: found a mapping, expected {expected}")
