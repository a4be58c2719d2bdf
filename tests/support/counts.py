"""How often and how long: `make test` has ten minutes, CI asks for more by `TIDEGATE_LONG` (`.ci/run`), `make soak` for all."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

IS_LONG = "TIDEGATE_LONG" in os.environ


def long_or_short(long: T, short: T) -> T:
    """What CI asks for, or what is enough while one works."""
    return long if IS_LONG else short
