"""Logging: one form for ours and for the libraries', in JSON or for people."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from xds_server.telemetry import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave logging as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in logs._CHATTY:
        logging.getLogger(name).setLevel(logging.NOTSET)
    structlog.reset_defaults()


def fail(secret: str) -> None:
    raise ValueError(len(secret))


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_has_one_object_per_line() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    structlog.get_logger("here").info("listening", xds="127.0.0.1:1", admin="127.0.0.1:2")
    structlog.get_logger("here").debug("not told")
    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "listening", "level": "info", "xds": "127.0.0.1:1", "admin": "127.0.0.1:2"}


def test_libraries_are_told_in_the_same_form() -> None:
    stream = io.StringIO()
    logs.configure("info", "json", stream)
    logging.getLogger("grpc.aio").warning("lost %s", "it", extra={"peer": "p"})
    logging.getLogger("watchfiles.main").info("chatter")
    (line,) = lines(stream)
    del line["timestamp"]
    line.pop("message", None)  # pytest has formatted the record before us
    assert line == {"event": "lost it", "level": "warning", "logger": "grpc.aio", "peer": "p"}


def test_errors_carry_their_traceback_but_no_local_variables() -> None:
    for form in ("json", "console"):
        stream = io.StringIO()
        logs.configure("info", form, stream)
        try:
            fail(secret="planted")
        except ValueError:
            structlog.get_logger().exception("failed")
        text = stream.getvalue()
        assert "ValueError: 7" in text
        assert "secret = " not in text


def test_auto_is_for_people_on_a_terminal_and_json_elsewhere() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    logs.configure("info", "auto", terminal)
    structlog.get_logger().info("hello", count=3)
    assert "hello" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")
    logs.configure("info", "auto", pipe)
    structlog.get_logger().info("hello", count=3)
    assert lines(pipe)[0]["count"] == 3


def test_a_second_set_up_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.configure("info", "json", first)
    logs.configure("debug", "json", second)
    structlog.get_logger().debug("once")
    assert first.getvalue() == ""
    assert [line["event"] for line in lines(second)] == ["once"]


def test_the_level_holds_for_libraries_too() -> None:
    stream = io.StringIO()
    logs.configure("error", "json", stream)
    logging.getLogger("watchfiles").warning("no")
    logging.getLogger("other").warning("no")
    logging.getLogger("other").error("yes")
    assert [line["event"] for line in lines(stream)] == ["yes"]
