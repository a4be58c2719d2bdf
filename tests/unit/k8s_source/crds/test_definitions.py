"""The CustomResourceDefinitions: they are those in deploy/, say something of every field, and bound what costs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields
from ruamel.yaml import YAML

from k8s_source.crds import words
from k8s_source.crds.build import definitions, to_yaml
from k8s_source.crds.gateway import BOOK
from xds_server.cli.definitions import print_definitions

ROOT = Path(__file__).parents[4]
(DEFINITION,) = definitions()
VERSIONS = {each["name"]: each for each in DEFINITION["spec"]["versions"]}


def nodes(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All schemas in a schema, by path."""
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from nodes(each, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


def of(version: str) -> dict[str, Mapping[str, Any]]:
    return dict(nodes(VERSIONS[version]["schema"]["openAPIV3Schema"]))


def test_deploy_has_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_definitions(with_webhook=True) == 0
    # `make docs` writes it.
    printed = capsys.readouterr().out
    assert (ROOT / "deploy" / "crds" / "dynamicgateways.yaml").read_text() == printed
    # The base has its own, since `kubectl apply -f deploy/crds/` takes every file there for an object.
    assert (ROOT / "deploy" / "base" / "crds.yaml").read_text() == printed
    assert [each.name for each in (ROOT / "deploy" / "crds").iterdir()] == ["dynamicgateways.yaml"]


def test_without_the_webhook_one_version_is_served() -> None:
    (found,) = definitions(with_webhook=False)
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert [each["name"] for each in found["spec"]["versions"] if each["served"]] == ["v1alpha1"]
    assert all(each["served"] for each in VERSIONS.values())
    assert [name for name, each in VERSIONS.items() if each["storage"]] == ["v1alpha1"]


def test_a_webhook_outside_the_cluster() -> None:
    (found,) = definitions(url="https://10.0.0.1:9443/")
    assert found["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": "https://10.0.0.1:9443/convert"}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_field_is_described_and_every_text_and_list_of_the_spec_is_bounded(version: str) -> None:
    for path, schema in of(version).items():
        if not path.endswith("[]") and path != ".metadata":
            assert schema["description"].endswith("."), path
        if path.startswith(".spec") and schema.get("type") == "array":
            assert "maxItems" in schema, path
        if path.startswith(".spec") and schema.get("type") == "string":
            assert "maxLength" in schema or "enum" in schema, path
        assert not re.search(r"\\[ZzQ]|\(\?[=!<]", schema.get("pattern", "")), f"{path}: RE2 has none of this"


def test_no_description_is_of_a_field_that_is_gone() -> None:
    for kind, notes in BOOK.items():
        names = {each.encode_name for each in fields(kind)}
        assert set(notes.more) | set(notes.unstored) <= names
        assert set(notes.words) <= names, kind
    assert set(words.ROOT) == {"apiVersion", "kind", "spec", "status"}


def test_what_is_stored_by_default() -> None:
    defaults = {
        version: {path: each["default"] for path, each in of(version).items() if "default" in each}
        for version in VERSIONS
    }
    assert defaults["v1alpha1"] == {
        ".spec.routes[].pathType": "Prefix",
        ".spec.routes[].retries": 0,
        ".spec.listeners[].protocol": "HTTP",
        ".spec.policy.fullResyncInterval": "5m",
        ".spec.policy.failOpen": False,
        ".spec.policy.requireEnvoyAck": True,
    }
    # Else a write in the other version of what was read in it would change the object.
    assert defaults["v1beta1"] == defaults["v1alpha1"]


def test_yaml_says_the_same() -> None:
    assert YAML(typ="safe").load(to_yaml(DEFINITION)) == DEFINITION
