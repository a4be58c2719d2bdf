"""Python's collector of cyclic garbage, set for a server that keeps much and makes little garbage in cycles.

With its usual thresholds it looks at everything that is kept again and again: a tenth of the CPU of a change for 1,000
streams, and a pause of up to a second once 10,000 clusters are kept.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""New containers before the young are looked at, and how many such looks there are to one at older ones."""


def look_seldom() -> None:
    """Look for garbage in cycles less often than Python does by itself."""
    gc.set_threshold(*_THRESHOLDS)


def keep() -> None:
    """Look at what there is once, then never again: it is here to stay. Holds everything for a moment."""
    gc.collect()
    gc.freeze()
