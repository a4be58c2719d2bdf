"""`validate` and `render`: what they say of good files and of bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.unit.admin.documents import KEY, cluster, endpoints, route, secret
from tests.unit.cli.conftest import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good world in `files`; the working directory is above it."""
    monkeypatch.chdir(tmp_path)
    files = tmp_path / "files"
    files.mkdir()
    resources = [cluster("one"), endpoints("one", 80), route("main", "one"), secret("cert", KEY)]
    (files / "world.json").write_text(json.dumps({"resources": resources}))
    return files


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_good_files(tidegate: Command, folder: Path) -> None:
    assert tidegate("validate", "files").output == "1 file, 4 resources in 1 group, no errors\n"


def test_an_empty_directory_is_no_error(tidegate: Command, tmp_path: Path) -> None:
    assert tidegate("validate", str(tmp_path)).output == (
        "0 files, 0 resources in 0 groups, no errors; nothing is declared there\n"
    )


def test_errors_are_told_as_compilers_do(tidegate: Command, folder: Path) -> None:
    write(
        folder,
        "bad.yaml",
        """\
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: two
nmae: three
---
resources:
  - "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
    name: four
    connect_timeout: 5 minutes
""",
    )
    soon = 'expected a duration in seconds such as "1.5s", found "5 minutes" (a string) [InvalidValue]'
    assert tidegate("validate", "files", code=1).output.splitlines() == [
        "files/bad.yaml:3:1: error: document 1: nmae: envoy.config.cluster.v3.Cluster has no field 'nmae'; did you mean 'name'? [UnknownField]",
        "    nmae: three",
        "    ^",
        f"files/bad.yaml:8:5: error: document 2: resources[0].connect_timeout: {soon}",
        "        connect_timeout: 5 minutes",
        "        ^",
        "2 files, 4 resources in 1 group, 2 errors",
    ]


def test_syntax_errors_have_line_and_column(tidegate: Command, folder: Path) -> None:
    write(folder, "bad.yaml", '"@type": [1,\nb: }\n')
    lines = tidegate("validate", "files", code=1).output.splitlines()
    assert lines[0].startswith("files/bad.yaml:2:4: error: ")
    assert lines[1:3] == ["    b: }", "       ^"]


def test_what_does_not_resolve_is_named(tidegate: Command, folder: Path) -> None:
    write(folder, "dangling.json", json.dumps(cluster("ghost")))
    lines = tidegate("validate", "files", code=1).output.splitlines()
    assert lines[0].startswith(
        "files/dangling.json:1:123: error: eds_cluster_config: cds 'ghost' refers to load assignment 'ghost'"
    )
    assert lines[-1] == "2 files, 4 resources in 1 group, 1 error"


def test_references_that_do_not_resolve_are_told_with_document_and_field(tidegate: Command, folder: Path) -> None:
    table = """\
"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: table
virtual_hosts:
  - name: nope
    domains: ["*"]
    routes:
      - {match: {prefix: "/a"}, route: {cluster: one}}
      - match: {prefix: "/"}
        route:
          weighted_clusters:
            clusters: [{name: one, weight: 1}, {name: nope, weight: 1}]
"""
    service = cluster("two") | {"eds_cluster_config": {"service_name": "gone", "eds_config": {"ads": {}}}}
    write(folder, "bad.yaml", f"{table}---\nresources:\n- {json.dumps(service)}\n")
    lines = tidegate("validate", "files", code=1).output.splitlines()
    weighted = "virtual_hosts[0].routes[1].route.weighted_clusters.clusters[1].name"
    assert lines[0].startswith(
        f"files/bad.yaml:11:49: error: document 1: {weighted}: rds 'table' refers to cluster 'nope'"
    )
    field = "resources[0].eds_cluster_config.service_name"
    told = next(line for line in lines if "'gone'" in line)
    assert told.startswith("files/bad.yaml:14:")
    assert f": error: document 2: {field}: cds 'two' refers to load assignment 'gone'" in told


def test_a_broken_document_is_named_when_the_file_has_several(tidegate: Command, folder: Path) -> None:
    write(folder, "a.yaml", "a: [\n---\nb: 1\n")
    write(folder, "b.yaml", "a: [\n")
    write(folder, "c.json", '{"a": 1}\n{"b": }')
    lines = [line for line in tidegate("validate", "files", code=1).output.splitlines() if "error: " in line]
    assert ["document 1: " in lines[0], "document" in lines[1], "document 2: " in lines[2]] == [True, False, True]


def test_a_name_that_two_claim_is_told_once(tidegate: Command, folder: Path) -> None:
    write(folder, "xagain.json", json.dumps({**cluster("one"), "connect_timeout": "2s"}))
    output = tidegate("validate", "files", code=1).output
    assert output.count("error: ") == 1
    assert "files/xagain.json:1" in output
    assert "declared already in files/world.json" in output


def test_a_path_that_is_not_there(tidegate: Command, folder: Path) -> None:
    output = tidegate("validate", "files", "nowhere", code=1).output
    assert output.startswith("nowhere: error: can't be read")


def test_lines_that_may_hold_a_key_are_not_repeated(tidegate: Command, folder: Path) -> None:
    write(folder, "s1.yaml", 'name: x\ntls_certificate: {private_key: {inline_string: "planted-key"}, "wrong": 1}\n')
    write(folder, "s2.yaml", "a: b\n  MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ: planted\n")
    write(folder, "s3.json", json.dumps({**secret("s", KEY), "wrong": 1}))
    output = tidegate("validate", "files", code=1).output
    assert output.count("error: ") >= 3
    assert "planted" not in output
    assert "MIIE" not in output
    assert "PRIVATE" not in output


def test_control_characters_do_not_reach_the_terminal(tidegate: Command, folder: Path) -> None:
    write(folder, "bad.json", '{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "\\u001b[31m": 1}')
    assert "\x1b" not in tidegate("validate", "files", code=1).output


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_render_prints_what_would_be_served(tidegate: Command, folder: Path, form: str) -> None:
    write(folder, "group=edge/more.json", json.dumps(endpoints("two", 81)))
    output = tidegate("render", "files", "-o", form).stdout
    document = json.loads(output) if form == "json" else YAML(typ="safe").load(output)
    assert [each["group"] for each in document["groups"]] == ["default", "edge"]
    resources = document["groups"][0]["resources"]
    assert [(each["type"], each["name"]) for each in resources] == [
        ("cds", "one"),
        ("eds", "one"),
        ("rds", "main"),
        ("sds", "cert"),
    ]
    assert resources[0]["resource"] == cluster("one")
    assert "PRIVATE" not in output


def test_render_can_choose_a_group(tidegate: Command, folder: Path) -> None:
    write(folder, "group=edge/more.json", json.dumps(endpoints("two", 81)))
    document = json.loads(tidegate("render", "files", "--group", "edge", "-o", "json").stdout)
    assert [each["group"] for each in document["groups"]] == ["edge"]
    result = tidegate("render", "files", "--group", "nowhere", code=1)
    assert result.stderr == "tidegate: nothing is declared for group 'nowhere'; groups: default, edge\n"
    assert result.stdout == ""


def test_render_prints_the_good_and_tells_the_bad(tidegate: Command, folder: Path) -> None:
    write(folder, "dangling.json", json.dumps(cluster("ghost")))
    result = tidegate("render", "files", "-o", "json", code=1)
    assert len(json.loads(result.stdout)["groups"][0]["resources"]) == 4
    assert "ghost" in result.stderr
