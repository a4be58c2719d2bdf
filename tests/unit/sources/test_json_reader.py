"""JSON to plain values, with lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from xds_server.sources.files.document import SyntaxFaultError
from xds_server.sources.files.json_reader import read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=3), st.sampled_from([None, 1]))
def test_reads_what_the_library_reads(values: list[object], indent: int | None) -> None:
    text = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert [each.value for each in read_json(text)] == values


@given(st.lists(JSON, max_size=5))
def test_lines_of_listed_resources(items: list[object]) -> None:
    text = json.dumps({"before": [1], "resources": items, "after": {"resources": [2]}}, indent=1)
    (document,) = read_json(f"\n{text}")
    assert document.line == 2
    assert len(document.lines) == len(items)
    rows = f"\n{text}".splitlines()
    for line, item in zip(document.lines, items, strict=True):
        assert rows[line - 1].strip()[0] == json.dumps(item)[0]


@pytest.mark.parametrize(
    ("text", "document", "line", "column", "words"),
    [
        ('{"a": 1,\n "a": 2}', 1, 2, 2, "occurs twice"),
        ('{"b": {"a": 1, "a": 2}}', 1, 1, 16, "occurs twice"),
        ('{"a": 1}\n{"b" 1}', 2, 2, 6, "Expecting ':'"),
        ('{"a": 1,}', 1, 1, 9, "property name"),
        ('{"a": 1', 1, 1, 8, "','"),
        ('{"resources": [1 2]}', 1, 1, 18, "','"),
        ('{"resources": [1,]}', 1, 1, 18, "Expecting value"),
        ("{'a': 1}", 1, 1, 2, "property name"),
        ('{"a": NaN}', 1, 1, 7, "NaN is no JSON number"),
        ('{"NaN": "x NaN",\n "resources": [1, -Infinity]}', 1, 2, 19, "-Infinity is no JSON number"),
        ('{"a": "\\ud800"}', 1, 1, 1, "surrogate"),
        ("[" * 100_000, 1, 1, 201, "nested deeper than 200 levels"),
        ('{"[": 1,\n"a": ' + "[" * 100_000, 1, 2, 206, "nested deeper than 200 levels"),
        ("\nhello", 1, 2, 1, "Expecting value"),
    ],
)
def test_faults_tell_their_place(text: str, document: int, line: int, column: int, words: str) -> None:
    with pytest.raises(SyntaxFaultError) as caught:
        list(read_json(text))
    found = caught.value
    assert (found.document, found.line, found.column) == (document, line, column)
    assert words in found.message


@given(st.text('{}[]",:a1 \n\\u', max_size=30))
def test_any_text_gives_documents_or_a_fault(text: str) -> None:
    try:
        list(read_json(text))
    except SyntaxFaultError:
        return
