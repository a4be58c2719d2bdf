"""A field-level comparison of two JSON values; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from xds_server.admin.shapes import FieldChange

REDACTED = "[redacted]"
"""Said of a field whose change can't be shown."""

_PLAIN_KEY = re.compile(r"[A-Za-z_@][\w@-]*")
_MISSING = object()


def compare(before: object, after: object) -> list[FieldChange]:
    """The fields that differ, in the order of their paths; lists are compared position by position.

    Call it for contents that are known to differ: when nothing is to be seen, the change is in what is redacted.
    """
    return list(_walk(before, after, "")) or [FieldChange("", REDACTED, REDACTED)]


def _walk(before: Any, after: Any, path: str) -> Iterator[FieldChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _walk(before.get(key, _MISSING), after.get(key, _MISSING), _below(path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            yield from _walk(_item(before, index), _item(after, index), f"{path}[{index}]")
    elif before != after or type(before) is not type(after):
        yield FieldChange(path, _shown(before), _shown(after))


def _below(path: str, key: str) -> str:
    """`a.b`, or `a["x.y"]` for a key that is no plain word; the same form as in the errors about files."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else _MISSING


def _shown(value: Any) -> Any:
    return None if value is _MISSING else value
