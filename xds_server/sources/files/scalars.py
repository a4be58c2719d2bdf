"""Plain YAML scalars to values, by the core schema of YAML 1.2.2 (section 10.3.2): `no` is a string, `010` is ten."""

from __future__ import annotations

import re

_CONSTANTS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + name: float(sign + "inf") for sign in ("", "+", "-") for name in (".inf", ".Inf", ".INF")},
}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FIRST = frozenset("0123456789+-.")
_LONGEST_INT = 400
"""Digits; what is longer fits no field and Python refuses to convert it at some length."""

_TAGS = "tag:yaml.org,2002:"
_KNOWN_FORM = re.compile(
    re.escape(_TAGS) + "(binary|map|merge|omap|pairs|seq|set|timestamp|str|null|bool|int|float|value)"
)
_STRANGE_TAG = "a tag that is not allowed here; a text that begins with ! needs quotes"


def plain(text: str) -> object:
    """The value of a scalar without quotes and without a tag."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _FIRST:
        return text
    if _INT.fullmatch(text):
        return int(text) if len(text) < _LONGEST_INT else text
    if _FLOAT.fullmatch(text):
        return float(text)
    if _OCTAL.fullmatch(text):
        return int(text, 8)
    return int(text, 16) if _HEX.fullmatch(text) else text


def tagged(text: str, tag: str) -> object:
    """The value of a scalar with an explicit tag.

    Raises:
        ValueError: The tag is none of the core schema, or the text is no value of its type.
    """
    if tag in {f"{_TAGS}str", "!"}:
        return text
    value = plain(text)
    wanted = {"null": type(None), "bool": bool, "int": int, "float": float}.get(tag.removeprefix(_TAGS))
    if wanted is None or not tag.startswith(_TAGS):
        raise ValueError(not_allowed(tag))
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"what stands here is no value of the tag {_written(tag)}")
    return value


def is_collection_tag(tag: str, kind: str) -> bool:
    """Whether an explicit tag on a mapping (`map`) or a list (`seq`) says only what it is anyway."""
    return tag in {f"{_TAGS}{kind}", "!"}


def not_allowed(tag: str) -> str:
    """Say that a tag is not allowed. One of an unknown form is not repeated: `!x` may be a password without quotes."""
    return f"the tag {_written(tag)} is not allowed here" if _KNOWN_FORM.fullmatch(tag) else _STRANGE_TAG


def _written(tag: str) -> str:
    """A tag as its author wrote it."""
    return tag.replace(_TAGS, "!!")
