"""What an API server answers instead of what was asked for, and what is to be done about it."""

from __future__ import annotations

from http import HTTPStatus

_RETRYABLE = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.UNAUTHORIZED}
)
"""Of the client's errors those that may pass: a token that has just been replaced makes for a 401, too."""


class ApiError(Exception):
    """A request that failed.

    `status` is that of HTTP, 0 where there was no answer; `reason` and `message` are those of the answer's
    `metav1.Status`, else of the transport. `retry_after` (seconds) is what the server asks for.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else f"{reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may go well later."""
        return self.status == 0 or self.status in _RETRYABLE or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def is_not_found(self) -> bool:
        """Whether there is no such object, or no such resource."""
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def is_gone(self) -> bool:
        """Whether a resourceVersion is too old (410, in either of its forms)."""
        return self.status == HTTPStatus.GONE

    @property
    def is_conflict(self) -> bool:
        """Whether the object has changed meanwhile, or another manager owns a field."""
        return self.status == HTTPStatus.CONFLICT
