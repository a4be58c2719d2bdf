"""Envoy's words about a resource: shortened to what they mean, and without its secrets."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from google.protobuf import text_encoding

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


AWKWARD = 'a"b\\c\té'
QUOTES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "protobuf": lambda text: str(text_encoding.CEscape(text.encode(), as_utf8=False)),
    "protobuf as UTF-8": lambda text: str(text_encoding.CEscape(text.encode(), as_utf8=True)),
    "JSON": lambda text: json.dumps(text)[1:-1],
}


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("key", [KEY, AWKWARD, f"{AWKWARD}planted-0123456789{AWKWARD}"])
def test_a_node_may_quote_a_secret_in_any_way(key: str, quote: str) -> None:
    words = f'line one\n  inline_string: "{QUOTES[quote](key)}"\n'
    found = without_secrets(words, [decode(NativeDocument("default", secret("pair", key), Origin("files")))])
    assert found.startswith('line one\n  inline_string: "')
    assert "redacted" in found
    assert "planted" not in found
    assert QUOTES[quote](key) not in found


def test_a_secret_that_is_quoted_wrongly_is_known_by_its_longer_parts() -> None:
    planted = f"{AWKWARD}planted-0123456789{AWKWARD}"
    contents = [decode(NativeDocument("default", secret("pair", planted), Origin("files")))]
    assert "planted" not in without_secrets(f"bad: {planted.encode().decode('latin-1')}", contents)


def test_a_node_quotes_only_a_part_of_a_key() -> None:
    begun = "-----BEGIN RSA PRIVATE KEY-----\\nabc\\nq="
    assert without_secrets(f"bad: {begun}", []) == "bad: [redacted]"
    assert without_secrets(f"bad: {begun}\\n-----END RSA PRIVATE KEY-----, and more", []) == "bad: [redacted], and more"


def test_nothing_that_a_node_quotes_is_repeated_where_too_much_is_under_suspicion() -> None:
    words = 'bad "planted \\" of it" here'
    assert without_secrets(words, [resource()] * 100) == words
    assert without_secrets(words, [resource()] * 101) == 'bad "[redacted]" here'


def test_a_node_s_words_without_a_secret_stay_as_they_are() -> None:
    words = "Error adding/updating listener(s) edge:\n  no such cluster: 'one'"
    assert without_secrets(words, [resource()]) == words
