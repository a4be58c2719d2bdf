"""What the webhook's server tells of itself, to metrics."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol


class Meter(Protocol):
    """Where requests are counted, and what `/metrics` answers."""

    def webhook_answered(self, path: str, code: str, took: float) -> None:
        """Count a request to a path that was answered with a status, in so many seconds."""

    def render(self, accept: str) -> Awaitable[tuple[bytes, str]]:
        """All metrics as text, and its content type."""
