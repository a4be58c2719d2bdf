"""What is wrong with one field of a manifest, and how a kind says so of fields that do not go together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True)
class Fault:
    """One place that is wrong: its path in the manifest, a reason for programs, a sentence for people."""

    path: str
    reason: str
    message: str


class FaultsError(ValueError):
    """Raised while an object is made: each of its fields is right, but not all together. Paths begin at the object."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in faults))
        self.faults = faults


def refuse(faults: Iterable[Fault]) -> None:
    """Raise what is wrong, if anything is.

    Raises:
        FaultsError: There is a fault.
    """
    found = tuple(faults)
    if found:
        raise FaultsError(found)


def join(path: str, key: str) -> str:
    """The path of a key below a path: `a.b`, or `a["x.y"]` for a key that is no plain word."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key
