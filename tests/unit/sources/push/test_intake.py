"""What owners say, looked at: every fault with its field, whole or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xds_server.sources.push.intake import LONGEST_LEASE, MOST_PROBLEMS, check, read
from xds_server.sources.push.model import InvalidError, Place, Said
from xds_server.translate.native import decode
from xds_server.wire.types import CLUSTER

PLACE = Place("billing", "edge")


def cluster(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"@type": CLUSTER, "name": name, "connect_timeout": "1s", **more}


def faults(said: Said, *, is_patch: bool = True) -> dict[str, str]:
    try:
        check("push", PLACE, said, is_patch=is_patch)
        read("push", PLACE, said, decode)
    except InvalidError as error:
        return {each.field: each.message for each in error.problems}
    return {}


def texts(*documents: object) -> list[str]:
    return [json.dumps(each) for each in documents]


def test_what_is_right_becomes_documents_of_canonical_bytes() -> None:
    push = read("push", PLACE, Said("1", texts(cluster("a"), cluster("b")), [("cds", "c")], 3.0, "0"), decode)
    assert [(each.type_url, each.name) for each in push.resources] == [(CLUSTER, "a"), (CLUSTER, "b")]
    assert (push.removed, push.lease, push.base) == ([(CLUSTER, "c")], 3.0, "0")
    origin = push.resources[1].origin
    assert (origin.source, origin.path, origin.document, origin.namespace) == ("push", "billing", 2, "edge")
    assert (origin.kind, origin.name, origin.api_version) == ("Cluster", "b", CLUSTER)


def test_json_and_bytes_of_one_resource_are_one() -> None:
    by_json = read("push", PLACE, Said("1", texts(cluster())), decode).resources[0]
    by_bytes = read("push", PLACE, Said("1", [(CLUSTER, by_json.body)]), decode).resources[0]
    assert by_bytes == by_json
    assert decode(by_bytes).version == decode(by_json).version


def test_every_fault_is_told_with_its_field() -> None:
    found = faults(
        Said(
            "1",
            [
                *texts(cluster("a"), cluster("b", lb_policy="RANDUM"), cluster("a"), {"name": "x"}, [1]),
                '{"name": "a", "name": "b"}',
                ("type.googleapis.com/no.Such", b""),
                (CLUSTER, b"\xff"),
                (CLUSTER, b""),
            ],
            [("cds", "a")],
        )
    )
    assert "RANDOM" in found["resources[1].lb_policy"]
    assert found["resources[2].name"] == "cds 'a' stands twice in the request"
    assert "expected the type" in found["resources[3].@type"]
    assert found["resources[4]"] == 'expected an object with "@type"'
    assert "occurs twice" in found["resources[5]"]
    assert "is no known type" in found["resources[6].@type"]
    assert "the bytes are no valid envoy.config.cluster.v3.Cluster" in found["resources[7]"]
    assert "expected the name" in found["resources[8].name"]
    assert found["remove[0]"] == "cds 'a' is set by the same request (resources[0])"


def test_of_many_faults_the_first_are_told() -> None:
    assert len(faults(Said("1", texts(*({} for _ in range(MOST_PROBLEMS + 20)))))) == MOST_PROBLEMS


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (Said(""), "version"),
        (Said("x" * 201), "version"),
        (Said("a\nb"), "version"),
        (Said("1", lease=-1.0), "lease_s"),
        (Said("1", lease=float("nan")), "lease_s"),
        (Said("1", lease=LONGEST_LEASE + 1), "lease_s"),
        (Said("1", remove=[("", "a")]), "remove[0].type"),
        (Said("1", remove=[("cds", "a"), ("cds", "")]), "remove[1].name"),
    ],
)
def test_what_is_not_about_resources(said: Said, field: str) -> None:
    assert set(faults(said)) == {field}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bogus", "expected one of cds, "),
        ("CDS", "expected one of cds, "),
        (CLUSTER.rpartition("/")[2], "or a type URL"),
        (f"{CLUSTER}x", "is no known type"),
        ("type.googleapis.com/envoy.config.core.v3.Address", "has no name"),
    ],
)
def test_what_is_removed_is_of_a_type_that_resources_have(kind: str, words: str) -> None:
    found = faults(Said("1", remove=[("cds", "a"), (kind, "x")]))
    assert found.keys() == {"remove[1].type"}
    assert words in found["remove[1].type"]


@pytest.mark.parametrize("kind", ["sds", CLUSTER, "type.googleapis.com/envoy.service.runtime.v3.Runtime"])
def test_any_type_that_resources_have_can_be_removed(kind: str) -> None:
    assert faults(Said("1", remove=[(kind, "x")])) == {}


def test_put_takes_neither_remove_nor_base() -> None:
    assert set(faults(Said("1", remove=[("cds", "a")], base="0"), is_patch=False)) == {"remove", "base"}
