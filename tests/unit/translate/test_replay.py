"""What goes into archives: it reads back with the same version, and has no secret in it."""

from __future__ import annotations

import json

import pytest

from tests.unit.admin.documents import KEY, cluster, route, secret
from xds_server.ir.declared import NativeDocument
from xds_server.ir.origin import Origin
from xds_server.sources.files.parse import FilePlace, parse
from xds_server.translate.native import decode
from xds_server.translate.replay import archived, archived_document, without_secrets
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import SECRET

PLACE = FilePlace("files", "a.json", "a.json", "default")
BYTES = {
    "@type": SECRET,
    "name": "ticket",
    "session_ticket_keys": {"keys": [{"inline_bytes": "cGxhbnRlZA=="}]},
}


def resource(body: dict[str, object]) -> Resource:
    return decode(NativeDocument("default", body, Origin("files")))


def read_back(before: Resource) -> Resource:
    """What the files source makes of an archive with this resource."""
    text = json.dumps({"resources": [archived(before).item]})
    assert "planted" not in text
    assert "cGxhbnRlZA" not in text
    unit = parse(PLACE, text.encode())
    assert not unit.problems
    return decode(unit.documents[0])


@pytest.mark.parametrize("body", [cluster("one"), route("main", "one"), secret("cert", KEY), BYTES])
def test_a_resource_reads_back_with_its_version(body: dict[str, object]) -> None:
    before = resource(body)
    after = read_back(before)
    assert (after.name, after.version, after.type_url) == (before.name, before.version, before.type_url)
    assert after.refs == before.refs


def test_only_what_is_redacted_takes_its_version_from_beside_it() -> None:
    assert "metadata" not in archived(resource(cluster("one"))).item
    item = {**archived(resource(cluster("one"))).item, "version": "a lie"}
    unit = parse(PLACE, json.dumps({"resources": [item]}).encode())
    assert decode(unit.documents[0]).version == resource(cluster("one")).version


def test_of_a_content_that_is_not_known_name_and_version_are_kept() -> None:
    before = Held("cert", SECRET, "1234")
    assert not archived(before).is_whole
    assert read_back(before).version == "1234"


def test_of_a_document_that_does_not_decode_texts_are_hidden() -> None:
    body = {"@type": SECRET, "name": "cert", "tls_certificate": {"private_kye": {"inline_string": "planted"}, "n": 5}}
    shown = archived_document(NativeDocument("default", body, Origin("files")))
    assert "planted" not in str(shown)
    assert shown == {
        "@type": SECRET,
        "name": "cert",
        "tls_certificate": {"private_kye": {"inline_string": "(hidden)"}, "n": 5},
    }


def test_other_parts_have_neither_what_looks_like_a_secret_nor_what_is_known_to_be_one() -> None:
    values = {
        "observers": {"kafka": {"security": {"password": "planted", "user": "me"}}},
        "told": f"Envoy says: {KEY.splitlines()[0]} is bad",
    }
    shown = str(without_secrets(values, [resource(secret("cert", KEY))]))
    assert "planted" not in shown
    assert "PRIVATE KEY" not in shown
    assert "me" in shown
