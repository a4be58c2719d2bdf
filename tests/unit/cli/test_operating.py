"""`status`, `nodes` and `diff`, beside a running admin API."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.unit.cli.conftest import Command


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_status_has_a_line_per_group(served: Command) -> None:
    output = served("status").output
    lines = rows(output)
    assert lines[0][:3] == ["GROUP", "VERSION", "SEQ"]
    assert lines[1][0] == "default"
    assert lines[1][2] == "2"
    assert lines[1][-7:] == ["5", "1", "3", "1", "1", "no", "-"]
    assert lines[2][0] == "silent"
    assert "default: cds ghost: NoAssignment" in output


def test_status_tells_how_many_problems_sources_have_and_which(served: Command) -> None:
    output = served("status").output
    lines = rows(output)
    at = lines.index(["SOURCE", "KIND", "READ", "OBJECTS", "PROBLEMS"])
    assert lines[at + 1] == ["files", "files", "yes", "2", "1"]
    assert "\n  files: world.yaml:7: nmae: " in output
    assert output.rstrip().endswith("(UnknownField)")


def test_nodes_has_a_line_per_stream(served: Command) -> None:
    output = served("nodes").output
    lines = rows(output)
    assert [line[0] for line in lines] == ["NODE", "n1", "n2", "n2"]
    assert lines[1][-1] == "ok"
    assert lines[2][-2:] == ["refused:", "cds"]
    assert rows(served("nodes", "--group", "silent").output)[1:] == []


def test_a_node_shows_what_it_refused_in_its_own_words(served: Command) -> None:
    output = served("nodes", "n2").output
    assert "Error adding/updating cluster(s) one: no such thing" in output
    assert "declared in world.yaml:3 (Cluster/one)" in output
    assert "n2 (connected)" in output


def test_gateways_has_a_line_per_gateway_and_what_stands_out(served: Command) -> None:
    output = served("gateways").output
    lines = rows(output)
    assert lines[0] == ["NAMESPACE", "NAME", "GROUP", "PHASE", "READY", "ROUTES", "ELSEWHERE", "UNKNOWN", "ACKED"]
    assert lines[1] == ["shop", "edge", "default", "Failed", "no", "3", "2", "1", "-"]
    assert "shop/edge/orders: degraded to shop/orders-lite:80 for " in output
    assert "(over-threshold); lag 1500 of 1000" in output
    assert "(healthy); lag unknown: no broker answers, last known 7" in output
    assert "shop/edge/plain: rejected for " in output


def test_a_gateway_shows_its_conditions_and_routes(served: Command) -> None:
    output = served("gateways", "shop/edge").output
    assert output.startswith("shop/edge (Failed)")
    lines = rows(output)
    assert ["Accepted", "True", "Accepted"] in [line[:3] for line in lines]
    assert ["Degraded", "Unknown", "LagUnknown"] in [line[:3] for line in lines]
    (mail,) = [line for line in lines if line[:1] == ["mail"]]
    assert "unknown" in mail, "never 0"
    assert "error      spec.routes[2].backendService: there is no Service shop/gone" in output


def test_a_gateway_that_is_not_there(served: Command) -> None:
    result = served("gateways", "edge", code=1)
    assert "there is no gateway 'default/edge'" in result.output


@pytest.mark.parametrize("name", ["", "/", "shop/", "/edge", "shop/edge/", "shop/edge/orders"])
def test_what_is_no_name_of_a_gateway(served: Command, name: str) -> None:
    assert f"{name!r}: expected NAMESPACE/NAME" in served("gateways", name, code=1).output


def test_diff_shows_fields(served: Command) -> None:
    lines = served("diff").output.splitlines()
    assert lines[0].startswith("from ")
    assert lines[0].endswith("(seq 2)")
    assert lines[1:] == [
        "+ cds new",
        "- cds gone",
        "~ cds one",
        '    connect_timeout: "1s" -> "2s"',
        '    lb_policy: - -> "RANDOM"',
        "~ sds cert",
        '    (all): "[redacted]" -> "[redacted]"',
    ]
    assert served("diff", "--from", "2", "--to", "2").output.splitlines()[1:] == ["no difference"]
    assert served("diff", "--to", "1").output.startswith("from nothing to ")


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["status"], "/v1/groups"),
        (["nodes"], "/v1/nodes"),
        (["nodes", "n2"], "/v1/nodes/n2"),
        (["gateways"], "/v1/gateways"),
        (["gateways", "shop/edge"], "/v1/gateways/shop/edge"),
        (["diff", "--group", "default", "--from", "1"], "/v1/groups/default/diff?from=1"),
    ],
)
def test_json_is_the_answer_as_it_is(served: Command, arguments: list[str], path: str) -> None:
    with urlopen(f"{served.admin}{path}") as answer:  # noqa: S310
        assert served(*arguments, "-o", "json").stdout == f"{answer.read().decode()}\n"


def test_rollback_and_release_are_shown_where_one_looks(served: Command) -> None:
    told = served("rollback", "default", "--to", "1", "--reason", "it was better").output
    assert "held at" in told
    assert told.endswith("by 127.0.0.1 since " + told.partition("since ")[2])
    status = served("status").output
    assert rows(status)[1][-1] != "-"
    assert "it was better" in status
    again = served("rollback", "default", "--release", "--reason", "repaired").output
    assert again.endswith(", as declared\n")
    lines = rows(served("audit", "--limit", "4").output)
    assert [line[3] for line in lines[1:]] == ["release", "version", "rollback", "version"]
    assert lines[1][-1] == "repaired"


def test_gateways_of_a_group_that_is_held_tell_what_would_be(served: Command) -> None:
    assert "HELD" not in served("gateways").output
    served("rollback", "default", "--to", "1", "--reason", "it was better")
    listed, shown = served("gateways").output, served("gateways", "shop/edge").output
    assert "\nshop/edge/orders: not served, would be degraded to shop/orders-lite:80 for " in listed
    for output in (listed, shown):
        assert "HELD: group default is held by 127.0.0.1 at version " in output
        assert "it was better; decisions are what would be served\n" in output
    lines = rows(shown)
    at = next(line for line in lines if line[:1] == ["ROUTE"]).index("SERVED")
    assert {line[at] for line in lines if line[:1] in (["orders"], ["mail"], ["plain"])} == {"no"}


def test_rollback_wants_a_version_or_a_release_and_a_reason(served: Command) -> None:
    assert "--to VERSION or --release" in served("rollback", "default", "--reason", "x", code=2).stderr
    assert "--reason" in served("rollback", "default", "--to", "1", code=2).stderr
    assert "no version 'zz'" in served("rollback", "default", "--to", "zz", "--reason", "x", code=1).stderr
    assert "not held" in served("rollback", "default", "--release", "--reason", "x", code=1).stderr


def test_what_is_not_there_is_told(served: Command) -> None:
    assert served("nodes", "a/b", code=1).stderr == "tidegate: there is no node 'a/b'\n"
    assert "'nowhere'" in served("diff", "--group", "nowhere", code=1).stderr


def test_an_api_that_cannot_be_reached_is_one_line(tidegate: Command) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{unused.getsockname()[1]}"
        for command in ("status", "nodes", "diff"):
            result = tidegate(command, "--admin", url, code=1)
            assert result.stderr == f"tidegate: the admin API at http://{url} can't be reached: Connection refused\n"
            assert result.stdout == ""


def test_explain_names_the_lines(served: Command) -> None:
    output = served("explain", "cds", "one").output
    assert output.splitlines()[0].startswith("cds one of group default, version ")
    assert "declared in world.yaml:3 (Cluster/one)" in output
    assert "there is no resource" in served("explain", "cds", "nothing", code=1).stderr
    told = served("explain", "foo", "bar", code=1).stderr
    assert told == "tidegate: there is no type 'foo', expected one of cds, eds, lds, rds, sds or a type URL\n"


def test_an_archive_that_can_not_be_written_is_named(served: Command, tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "a.tar.gz"
    told = served("export", "--output", str(file), code=1).stderr
    assert told == f"tidegate: can't write {file}: No such file or directory\n"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "file:///etc/passwd"])
def test_a_wrong_url_is_told(tidegate: Command, url: str) -> None:
    assert "expected the admin API's URL" in tidegate("status", "--admin", url, code=1).stderr


def test_something_else_that_answers(tidegate: Command, served: Command) -> None:
    assert "there is nothing at" in tidegate("status", "--admin", f"{served.admin}/elsewhere", code=1).stderr
    json.loads(served("status", "-o", "json").stdout)
