"""How much memory a process has."""

from __future__ import annotations

import resource
from pathlib import Path


def resident(pid: int) -> int:
    """The resident set of a process in bytes (Linux, proc(5), `statm`)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
