"""What is said about a fault in the configuration: the key's full path, what was found, what was expected."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import SecretStr
from pydantic_core import ErrorDetails

from xds_server.settings.document import Loc
from xds_server.settings.root import Settings
from xds_server.settings.schema import Key, choices, fits, keys, unit
from xds_server.settings.units import DURATION, SHARE, SIZE

MOST = 60
"""Letters of a found value that are repeated."""

NEAR = 0.6
"""How alike (difflib's ratio) a sibling must be to be preferred to a key elsewhere."""

_WORDS = {
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "string_type": "a string",
    "path_type": "a path",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_too_short": "a text that is not empty",
}
_BOUNDS = {"greater_than_equal": "{ge} or more", "less_than_equal": "{le} or less", "greater_than": "more than {gt}"}


def place(loc: Loc) -> Loc:
    """The place in the data that pydantic's `loc` means: without the tag of the union's member."""
    return loc[:2] + loc[3:] if loc[:1] == ("sources",) else loc


def dotted(loc: Loc) -> str:
    """A place as people write it: `sources[0].path`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return text.removeprefix(".")


def describe(error: ErrorDetails, where: Callable[[Loc], str]) -> str:
    """One line for one of pydantic's errors; `where` tells where a place was set (file and line, variable)."""
    loc, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if kind == "unknown_key":
        loc = (*loc, context["key"])
    at = place(loc)
    return f"{where(at)}: {dotted(at)}: {_fault(error, kind, loc, context)}"


def _fault(error: ErrorDetails, kind: str, loc: Loc, context: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        return f"unknown key; the nearest known key is {_nearest_key(loc)}"
    if kind == "unknown_key":
        nearest = dotted((*loc[:-1], _best(str(loc[-1]), context["known"])))
        return f"unknown key; the nearest known key is {nearest}"
    if kind == "unknown_kind":
        nearest = _best(str(error["input"]), context["known"])
        return f"found {found(error['input'])}, expected one of {_listed(context['known'])} (nearest: {nearest})"
    if kind == "missing":
        return f"missing; expected: {_what(loc)}"
    if _is_secret(loc):
        return f"found something that is not repeated here, expected {_expected(error, context)} (a number in quotes)"
    return f"found {found(error['input'])}, expected {_expected(error, context)}"


def found(value: object) -> str:
    """A value in a few letters; what a list or mapping holds is not repeated."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST else f"{text[:MOST]}…"


def _expected(error: ErrorDetails, context: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    if kind == "literal_error":
        return f"one of {context['expected'].replace(chr(39), '').replace(' or ', ', ')}"
    return error["msg"].removeprefix("Input should be ")


def _what(loc: Loc) -> str:
    """What a key that is not there should hold."""
    key = next((key for key in _all_keys() if fits(key.pattern, loc)), None)
    if key is None:
        return "a value"
    by_unit = {"duration": DURATION, "size": SIZE, "share": SHARE}.get(unit(key.field))
    words = _listed(choices(key.field))
    return by_unit or words or (key.meaning or "a value").rstrip(".")


def _is_secret(loc: Loc) -> bool:
    """Whether a key holds a secret itself."""
    return any(SecretStr in _types(key.field.annotation) for key in _all_keys() if fits(key.pattern, loc))


def _types(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) or (annotation,)


def _all_keys() -> Iterable[Key]:
    return keys(Settings)


def _nearest_key(loc: Loc) -> str:
    """The full path of the known key that was most likely meant: a sibling, else one of that name elsewhere."""
    name, parent = str(loc[-1]), loc[:-1]
    known = list(_all_keys())
    siblings = [key.name for key in known if fits(key.pattern[:-1], parent)]
    close = difflib.get_close_matches(name, siblings, 1, NEAR)
    if close:
        return dotted((*place(parent), close[0]))
    elsewhere = [key.path for key in known if key.name == name]
    elsewhere += difflib.get_close_matches(dotted(place(loc)), [key.path for key in known], 1, NEAR)
    if elsewhere:
        return elsewhere[0]
    return dotted((*place(parent), _best(name, siblings or [key.path for key in known])))


def _best(word: str, known: Sequence[str]) -> str:
    return difflib.get_close_matches(word, known, 1, 0.0)[0]


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
