"""Times as the API server writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def micro_time(posix: float) -> str:
    """A time as `metav1.MicroTime` wants it: always six digits of a second."""
    return datetime.fromtimestamp(posix, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
