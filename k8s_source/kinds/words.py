"""Words for people: what a field accepts, what was found in its place, and what was probably meant."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from enum import EnumMeta
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Meta, Struct

from k8s_source.kinds.fields import EXPECTED

_PLAIN = {
    str: "a string (numbers and the like need quotes)",
    bool: "true or false without quotes",
    int: "a whole number",
    float: "a number",
}
_KINDS: tuple[tuple[type, str], ...] = (
    (dict, "a mapping"),
    (list, "a list"),
    (NoneType, "null"),
    (bool, "a boolean"),
    (str, "a string"),
)
_SHOWN = re.compile(r"[ -~]{0,40}")
"""A text that is short and plain enough to be repeated."""

_FIELD = re.compile(r"(?=.{1,40}\Z)[A-Za-z][A-Za-z0-9_.-]*")
"""A key that looks like the name of a field."""


def alternatives(annotation: Any) -> list[Any]:
    """The types that a field may have, each with its own bounds; without None."""
    if get_origin(bare(annotation)) in {Union, UnionType}:
        return [each for each in get_args(bare(annotation)) if each is not NoneType]
    return [annotation]


def base(annotation: Any) -> Any:
    """A type without its bounds and without its parameters: `dict` for `Annotated[dict[str, str], …]`."""
    kind = bare(annotation)
    return get_origin(kind) or kind


def parameters(annotation: Any) -> tuple[Any, ...]:
    """The parameters of a type: (str, str) for `dict[str, str]`."""
    return get_args(bare(annotation))


def expected(annotation: Any) -> str:
    """What a field accepts."""
    return ", or ".join(_expected(each) for each in alternatives(annotation))


def found(value: object, *, secret: bool) -> str:
    """What stands there: its kind, and the value where it is short and no `secret`."""
    kind = next((name for kind, name in _KINDS if isinstance(value, kind)), "a number")
    if secret or value is None or isinstance(value, dict | list):
        return kind
    shown = json.dumps(value, ensure_ascii=False)
    return f"{shown} ({kind})" if _SHOWN.fullmatch(shown) else kind


def meant(value: object, annotation: Any) -> str:
    """A clause with the word of an enumeration that was probably meant, or none."""
    kind = base(alternatives(annotation)[0])
    if not isinstance(kind, EnumMeta) or not isinstance(value, str):
        return ""
    words = {str(each.value).lower(): str(each.value) for each in kind}  # type: ignore[var-annotated]
    close = get_close_matches(value.lower(), words, n=1)
    return f"; did you mean {words[close[0]]!r}?" if close else ""


def nearest(word: str, known: Sequence[str]) -> str:
    """A clause with the name that was probably meant; all names where they are few and none is near."""
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(sorted(known))}"


def is_field_name(key: str) -> bool:
    """Whether an unknown key can be repeated: it looks like a field's name."""
    return _FIELD.fullmatch(key) is not None


def _expected(annotation: Any) -> str:
    kind = base(annotation)
    words = [meta.extra[EXPECTED] for meta in metas(annotation) if meta.extra and EXPECTED in meta.extra]
    if words:
        return str(words[-1])
    if isinstance(kind, EnumMeta):
        return "one of " + ", ".join(str(each.value) for each in kind)  # type: ignore[var-annotated]
    if isinstance(kind, type) and issubclass(kind, Struct | dict):
        return "a mapping"
    return "a list" if kind is tuple else _PLAIN[kind]


def bare(annotation: Any) -> Any:
    """A type without its bounds: `dict[str, str]` for `Annotated[dict[str, str], …]`."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def metas(annotation: Any) -> list[Meta]:
    """The bounds of a type."""
    return [each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Meta)]
