"""Envoy's words about a resource: shortened to what they mean, and without its secrets."""

from __future__ import annotations

import json

import pytest

from tests.unit.admin.documents import secret
from xds_server.ir.declared import NativeDocument
from xds_server.ir.origin import Origin
from xds_server.translate.inline import told, without_secrets
from xds_server.translate.native import decode
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import SECRET, url_of

KEY = "first line of a planted key\nsecond line of a planted key"


def resource() -> Resource:
    return decode(NativeDocument("default", secret("pair", KEY), Origin("files")))


def test_a_constraint_is_told_without_the_message_beside_it() -> None:
    dump = 'goo.gle/debugstr node { id: "x" }'
    inner = "BootstrapValidationError.StaticResources: embedded message failed validation | caused by A.B: too large"
    assert told(f"{dump} : Proto constraint validation failed ({inner})", resource()) == "A.B: too large"
    assert told(f"Proto constraint validation failed ({inner}): {dump}", resource()) == "A.B: too large"


@pytest.mark.parametrize("quoted", [KEY, KEY.replace("\n", " "), "second line of a planted key"])
def test_a_secret_of_the_resource_is_not_repeated(quoted: str) -> None:
    words = told(f"can't read '{quoted}' of it", resource())
    assert "planted" not in words
    assert words.startswith("can't read '")


@pytest.mark.parametrize("quoted", [KEY, json.dumps(KEY), "second line of a planted key"])
def test_of_what_a_client_says_all_is_repeated_but_secrets_of_what_it_refused(quoted: str) -> None:
    others = [Held("pair", SECRET, "v"), *(unrelated(number) for number in range(50))]
    words = without_secrets(f'refused\n  name: "pair" key: {quoted} since', [*others, resource()])
    assert "planted" not in words
    assert words.startswith('refused\n  name: "pair" key: ')
    assert words.endswith(" since")


def unrelated(number: int) -> Resource:
    document = {"@type": url_of("cds"), "name": f"other-{number}"}
    return decode(NativeDocument("default", document, Origin("files")))


def test_what_looks_like_a_secret_is_not_repeated() -> None:
    assert "BEGIN" not in told("bad key: -----BEGIN PRIVATE KEY----- abc", resource())


def test_long_words_are_cut() -> None:
    assert len(told("x" * 5000, resource())) == 1001
