"""Values with a unit: durations (`10ms`, `1m30s`), sizes (`16MiB`), shares (`10%`), and plain counts.

A duration becomes seconds as a float, a size bytes as an int. The grammar of durations is that of Go and of
Kubernetes (GEP-2257): numbers with the units h, m, s, ms, us, largest first; a bare number is seconds.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ByteSize, Field
from pydantic_core import PydanticCustomError

DURATION = "a duration such as 10ms, 5s, 1m30s or 168h (a bare number is seconds)"
SIZE = "a size such as 512KiB or 16MiB (a bare number is bytes)"
COUNT = "a whole number"
SHARE = "a count of 1 or more, or a share such as 10%"

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in _UNITS))
_SIZE = re.compile(rf"{_NUMBER}\s*(?:[KMGT](?:i?B)?|B)?", re.IGNORECASE)


def seconds(value: object) -> float:
    """Turn `1m30s` or a number into seconds.

    Raises:
        PydanticCustomError: It is no duration, or a negative or endless one.
    """
    result = math.nan
    if isinstance(value, str):
        result = _parse(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        result = float(value)
    if math.isfinite(result) and result >= 0:
        return result
    raise PydanticCustomError("expected", DURATION)


def _parse(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        return math.nan
    return sum(float(number) * _UNITS[unit] for unit, number in match.groupdict().items() if number)


def duration_text(value: float) -> str:
    """Write seconds the way a person would: `10ms`, `5s`, `1m30s`, `168h`."""
    left = round(value * 1_000_000)
    text = ""
    for unit, size in (("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1)):
        number, left = divmod(left, size)
        if number:
            text += f"{number}{unit}"
    return text or "0s"


def size_text(value: int) -> str:
    """Write bytes with the largest binary unit that leaves a whole number: `16MiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return f"{value}B"


def _positive(value: object) -> float:
    result = seconds(value)
    if result > 0:
        return result
    raise PydanticCustomError("expected", DURATION + ", above 0")


def _size(value: object) -> object:
    number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if number or (isinstance(value, str) and _SIZE.fullmatch(value.strip())):
        return value
    raise PydanticCustomError("expected", SIZE)


def _count(value: object) -> object:
    if isinstance(value, bool | float):
        raise PydanticCustomError("expected", COUNT)
    return value


def _share(value: object) -> int | str:
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if re.fullmatch(r"0*[1-9][0-9]*", text):
        return int(text)
    if re.fullmatch(r"(?:0*[1-9][0-9]?|100)%", text):
        return text
    raise PydanticCustomError("expected", SHARE)


def _filename(value: object) -> object:
    if value == "":
        raise PydanticCustomError("expected", "a path")
    return value


Duration = Annotated[float, BeforeValidator(seconds), Field(json_schema_extra={"unit": "duration"})]
"""Seconds; 0 is allowed."""

Interval = Annotated[float, BeforeValidator(_positive), Field(json_schema_extra={"unit": "duration"})]
"""Seconds, more than 0."""

Size = Annotated[ByteSize, BeforeValidator(_size), Field(gt=0, json_schema_extra={"unit": "size"})]
"""Bytes, more than 0."""

Count = Annotated[int, BeforeValidator(_count), Field(ge=1)]
"""A whole number of 1 or more."""

Percent = Annotated[int, BeforeValidator(_count), Field(ge=0, le=100)]
"""A whole number from 0 to 100."""

Share = Annotated[int | str, BeforeValidator(_share), Field(json_schema_extra={"unit": "share"})]
"""So many nodes (an int), or such a part of them (a string with `%`)."""

Filename = Annotated[Path, BeforeValidator(_filename)]
"""Path of a file or directory, relative to the working directory."""
