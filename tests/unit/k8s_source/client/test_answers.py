"""Answers that are no success."""

from __future__ import annotations

import pytest

from k8s_source.client.answers import error_of, error_of_event


def test_what_a_status_says_is_told() -> None:
    body = b'{"kind":"Status","code":409,"reason":"Conflict","message":"the object has been modified"}'
    error = error_of(409, {}, body)
    assert (error.status, error.reason, error.is_conflict) == (409, "Conflict", True)
    assert str(error) == "409 Conflict: the object has been modified"


@pytest.mark.parametrize("body", [b"", b"<html>\xff bad gateway</html>", b"[]", b'{"message": 1}'])
def test_an_answer_that_is_no_status_is_told_as_it_is(body: bytes) -> None:
    error = error_of(502, {}, body)
    assert (error.status, error.reason, error.is_retryable) == (502, "BadGateway", True)
    assert error.message == body.decode(errors="replace")


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("3", b"", 3.0),
        ("", b'{"details": {"retryAfterSeconds": 5}}', 5.0),
        ("3", b'{"details": {"retryAfterSeconds": 5}}', 3.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", b"", None),
        ("-1", b"", None),
        ("", b"", None),
    ],
)
def test_when_to_come_again(header: str, body: bytes, seconds: float | None) -> None:
    assert error_of(429, {"Retry-After": header}, body).retry_after == seconds


def test_an_unknown_status_has_a_reason_all_the_same() -> None:
    assert error_of(599, {}, b"").reason == "Unknown"


def test_the_error_of_a_watch_has_the_status_that_its_event_names() -> None:
    assert error_of_event(b'{"code": 410, "reason": "Expired", "message": "too old"}').is_gone
    assert error_of_event(b'{"message": "what"}').status == 500
