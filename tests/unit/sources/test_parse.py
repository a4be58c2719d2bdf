"""From a file's bytes to documents, origins and problems."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from k8s_source.kinds.decode import decode_manifest
from tests.unit.sources.recording import CLUSTER, cluster
from xds_server.ir.declared import Unit
from xds_server.ir.origin import Origin
from xds_server.sources.files.parse import FilePlace, parse


def unit(text: str | bytes, name: str = "a.yaml") -> Unit:
    place = FilePlace("files", name, f"config/{name}", "edge")
    return parse(place, text if isinstance(text, bytes) else text.encode())


def problem(text: str | bytes, name: str = "a.yaml") -> tuple[str, int, str, str]:
    found = unit(text, name)
    (each,) = found.problems
    return each.reason, each.origin.line, each.field, each.message


def test_native_documents_know_where_they_come_from() -> None:
    first, second = unit(cluster("a") + "---\n---\n" + cluster("b")).documents
    assert first.body == {"@type": CLUSTER, "name": "a"}
    assert (first.group, first.within) == ("edge", "")
    assert first.origin == Origin("files", "config/a.yaml", 1, 1, CLUSTER, "Cluster", "", "a")
    assert second.origin == Origin("files", "config/a.yaml", 3, 5, CLUSTER, "Cluster", "", "b")


def test_envoys_file_form() -> None:
    text = f"""
version_info: "1"
resources:
- "@type": {CLUSTER}
  name: a
- name: wrapped
  version: "7"
  resource: {{"@type": {CLUSTER}, name: b}}
- "@type": type.googleapis.com/envoy.service.discovery.v3.Resource
  resource:
    "@type": {CLUSTER}
    name: c
"""
    found = unit(text)
    assert not found.problems
    assert [(each.origin.name, each.within, each.origin.line, each.origin.name) for each in found.documents] == [
        ("a", "resources[0]", 4, "a"),
        ("b", "resources[1].resource", 6, "b"),
        ("c", "resources[2].resource", 9, "c"),
    ]


@pytest.mark.parametrize("text", ["# nothing\n", "---\n---\n", "resources: []", "resources:\n", "\ufeff# bom"])
def test_empty_files_declare_nothing(text: str) -> None:
    assert unit(text) == Unit("a.yaml")


def test_a_file_without_content_says_so_for_the_case_that_it_declared_something() -> None:
    found = unit("")
    assert found.emptied is not None
    assert found.emptied.reason == "EmptyFile"
    assert found == Unit("a.yaml", emptied=found.emptied)


LIST = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Service
  metadata: {name: a}
  spec: {ports: [{port: 80}]}
- apiVersion: v1
  kind: Service
  metadata: {name: b}
  spec:
    ports: no
- 5
kind: List
metadata: {resourceVersion: ""}
"""


def test_the_items_of_a_list_are_documents_of_their_own() -> None:
    found = parse(FilePlace("files", "a.yaml", "a.yaml", "edge"), LIST.encode(), decode_manifest)
    assert [(each.key.name, each.origin.line, each.folder_group) for each in found.objects] == [("a", 3, "edge")]
    wrong, odd = found.problems
    assert (wrong.origin.kind, wrong.origin.name, wrong.field, wrong.origin.line) == (
        "Service",
        "b",
        "items[1].spec.ports",
        11,
    )
    assert (odd.reason, odd.field, odd.origin.line) == ("UnknownForm", "items[2]", 12)


@pytest.mark.parametrize("items", ["", "items: []\n", "items:\n"])
def test_a_list_without_items_declares_nothing(items: str) -> None:
    assert unit(f"apiVersion: v1\nkind: List\n{items}") == Unit("a.yaml")


def test_a_list_of_no_list() -> None:
    (problem,) = unit("apiVersion: v1\nkind: List\nitems: 5\n").problems
    assert (problem.reason, problem.field) == ("InvalidValue", "items")


def test_a_response_by_its_type_is_the_file_form() -> None:
    text = f'{{"@type": "x/envoy.service.discovery.v3.DiscoveryResponse", "resources": [{{"@type": "{CLUSTER}"}}]}}'
    (document,) = unit(text, "a.json").documents
    assert document.within == "resources[0]"


@pytest.mark.parametrize(
    ("text", "reason", "line", "field", "words"),
    [
        ("a: 1\nb: 2", "UnknownForm", 1, "", "found a mapping with the keys a, b"),
        ("- a", "UnknownForm", 1, "", "found a list"),
        ("\nsecret text", "UnknownForm", 2, "", "found a string"),
        ("{}", "UnknownForm", 1, "", "found an empty mapping"),
        ("resources: 3", "InvalidValue", 1, "resources", "expected a list, found a plain value"),
        ("resources:\n- 3", "InvalidValue", 2, "resources[0]", "found a plain value"),
        ("resources:\n- {resource: null}", "InvalidValue", 2, "resources[0].resource", "found null"),
        ("resources: []\nversion: 1", "UnknownField", 2, "version", "no field 'version'"),
    ],
)
def test_other_documents_are_problems(text: str, reason: str, line: int, field: str, words: str) -> None:
    found = problem(text)
    assert found[:3] == (reason, line, field)
    assert words in found[3]
    assert "secret" not in found[3]
    assert not unit(text).broken


def test_manifests_are_told_by_their_kind() -> None:
    text = "---\napiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: cart}\n---\n" + cluster("a")
    found = unit(text)
    (each,) = found.problems
    assert each.reason == "UnsupportedKind"
    assert "Service" in each.message
    assert each.origin == Origin("files", "config/a.yaml", 1, 3, "v1", "Service", "shop", "cart")
    assert len(found.documents) == 1
    assert not found.broken


def test_a_kustomization_is_a_manifest() -> None:
    assert problem("apiVersion: k/v1\nkind: Kustomization\nresources: [a.yaml]")[0] == "UnsupportedKind"


@pytest.mark.parametrize(
    ("data", "name", "reason", "line", "words"),
    [
        (cluster("a") + "---\na: [", "a.yaml", "InvalidSyntax", 5, "column 1"),
        ('{\n"a": }', "a.json", "InvalidSyntax", 2, "column 6"),
        (b"a: 1\nb: \xff\xfe", "a.yaml", "NotText", 2, "0xff at offset 8"),
        (b"\x00\x01\x02", "a.yaml", "InvalidSyntax", 1, "control characters"),
        ("a: 1".encode("utf-16"), "a.yaml", "NotText", 1, "UTF-8"),
        ("a: 1\na: 2", "a.yml", "InvalidSyntax", 2, "occurs twice"),
    ],
)
def test_broken_files(data: str | bytes, name: str, reason: str, line: int, words: str) -> None:
    found = unit(data, name)
    assert found.broken
    assert not found.documents
    (each,) = found.problems
    assert (each.reason, each.origin.line) == (reason, line)
    assert words in each.message
    assert each.origin.path == f"config/{name}"


@given(st.binary(max_size=80), st.sampled_from(["a.yaml", "a.json"]))
def test_no_content_raises(data: bytes, name: str) -> None:
    assert unit(data, name).key == name
