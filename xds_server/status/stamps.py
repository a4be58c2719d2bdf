"""Moments as text."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(at: float) -> str:
    """POSIX seconds as RFC 3339 in UTC with milliseconds."""
    return f"{datetime.fromtimestamp(at, UTC).isoformat(timespec='milliseconds')[:-6]}Z"
