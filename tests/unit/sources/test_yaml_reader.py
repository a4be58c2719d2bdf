"""YAML to plain values: the core schema of YAML 1.2, places, and what is refused."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from xds_server.sources.files.document import Document, SyntaxFaultError
from xds_server.sources.files.yaml_reader import read_yaml


def one(text: str) -> object:
    (document,) = read_yaml(text)
    return document.value


def fault(text: str) -> tuple[int, int, str]:
    with pytest.raises(SyntaxFaultError) as caught:
        list(read_yaml(text))
    return caught.value.line, caught.value.column, caught.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("12", 12),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-7", -7),
        ("+7", 7),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        ("10.0.0.1", "10.0.0.1"),
        (".", "."),
        ("-x", "-x"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("|\n  12\n", "12\n"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("!!float 12", 12.0),
        ("!!int '12'", 12),
        ("!!map {}", {}),
        ("!!seq []", []),
        ("{1: a, true: b, null: c}", {"1": "a", "true": "b", "null": "c"}),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_values(text: str, value: object) -> None:
    found = one(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number() -> None:
    assert math.isnan(one(".nan"))  # type: ignore[arg-type]


def test_documents_are_numbered_empty_ones_included() -> None:
    documents = list(read_yaml("# one\na: 1\n---\n---\n\n- b\n...\n---\nc"))
    assert [(each.number, each.line, each.value) for each in documents] == [
        (1, 2, {"a": 1}),
        (2, 4, None),
        (3, 6, ["b"]),
        (4, 9, "c"),
    ]
    assert list(read_yaml("")) == []
    assert list(read_yaml("# nothing\n")) == []


def test_lines_of_listed_resources() -> None:
    text = "version_info: v\nresources:\n- a: 1\n  resources: [x]\n\n-\n  b: [1, 2]\n- - c\nother: [d]\n"
    (document,) = read_yaml(text)
    assert document.lines == (3, 7, 8)


def test_aliases_stand_for_their_anchor() -> None:
    assert one("a: &x {b: [1]}\nc: *x\nd: [*x, *x]") == {"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}] * 2}
    assert one("&k key: 1\nother: *k") == {"key": 1, "other": "key"}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "the key 'a' occurs twice"),
        ("x:\n  y: {a: 1, 'a': 2}", 2, 13, "the key 'a' occurs twice"),
        ("a: [1\nb: 2", 2, 2, "did not find expected"),
        ("a:\n\t- b", 2, 1, "cannot start any token"),
        ("a: b: c", 1, 5, "not allowed in this context"),
        ("é: ééé\nb: \x01", 2, 4, "control characters"),
        ("a: !env X", 1, 4, "a tag that is not allowed here"),
        ("a: !!python/object:x {}", 1, 4, "a tag that is not allowed"),
        ("a: !!binary aGk=", 1, 4, "!!binary"),
        ("a: !!int x", 1, 4, "no value of the tag !!int"),
        ("a: *b", 1, 4, "an alias without a finished anchor"),
        ("a: &a [*a]", 1, 8, "an alias without a finished anchor"),
        ("? [a]\n: b", 1, 5, "a string as a key"),
        ("- " * 300, 1, 401, "nested deeper than 200"),
        ('"\\ud800"', 1, 4, "invalid Unicode"),
        ("%YAML 3.0\n--- a", 1, 1, "incompatible"),
    ],
)
def test_faults_tell_their_place(text: str, line: int, column: int, words: str) -> None:
    found = fault(text)
    assert found[:2] == (line, column)
    assert words in found[2]


def test_a_billion_laughs_are_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases stand for more than" in fault("\n".join(rows))[2]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text("aé \n\"'#:-", max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab:é", max_size=4), inner, max_size=4),
        max_leaves=20,
    )
)
def test_json_reads_the_same_as_yaml(value: object) -> None:
    assert [each.value for each in read_yaml(json.dumps(value))] == [value]


@given(st.text(max_size=60))
def test_any_text_gives_documents_or_a_fault(text: str) -> None:
    try:
        documents = list(read_yaml(text))
    except SyntaxFaultError:
        return
    assert all(isinstance(each, Document) for each in documents)
