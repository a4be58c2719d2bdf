"""Answers that are no success: from status, headers and body to an `ApiError`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from k8s_source.client.errors import ApiError

_EXCERPT = 300
"""Characters of an answer that is no `metav1.Status`: a proxy's page in HTML, say."""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: float | None = None


class Status(msgspec.Struct, frozen=True):
    """`metav1.Status`, as far as it is read. Watches end with one of these, too."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(Status)


def error_of(http_status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error of an answer with this status, whatever its body is."""
    try:
        status = _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status(message=body[:_EXCERPT].decode("utf-8", "replace").strip())
    asked = seconds(headers.get("Retry-After", ""))
    return _error(http_status, status, asked)


def error_of_event(body: bytes) -> ApiError:
    """The error that an ERROR event of a watch carries. Raises msgspec.DecodeError."""
    status = _STATUS.decode(body)
    return _error(status.code or HTTPStatus.INTERNAL_SERVER_ERROR, status, None)


def seconds(retry_after: str) -> float | None:
    """The header `Retry-After` in seconds; API servers never send it as a date, and a proxy's date is not heeded."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None


def _error(code: int, status: Status, asked: float | None) -> ApiError:
    if asked is None and status.details is not None:
        asked = status.details.retry_after_seconds
    return ApiError(code, status.reason or _phrase(code), status.message, asked)


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase.replace(" ", "")
    except ValueError:
        return "Unknown"
