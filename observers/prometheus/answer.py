"""What an answer of the query API means: a finite number, no value, or a failure. Pure.

The form is that of Prometheus' HTTP API, "Format overview" and "Expression query result formats". Nothing but one finite
number is a value: all else is unknown, with a word for what it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from observers.sampler import Answer, Failure, Nothing, Value

MOST_TEXT = 300
"""Characters of the server's own words, or of a series' labels, that are repeated."""

QUERY_FAULTS = ("bad_data", "execution")
"""Types of errors that are the query's own; the server is well."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?Inf|NaN")


class Reply(NamedTuple):
    """An HTTP response whose body is whole; `answered` is the server's clock (POSIX seconds)."""

    status: int
    body: bytes
    answered: float


class Read(NamedTuple):
    """What a reply means, and whether it was the query API that spoke of this query: then the server is well."""

    answer: Answer
    is_well: bool


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Envelope(msgspec.Struct, rename="camel"):
    status: Literal["success", "error"]
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None


class _Series(msgspec.Struct):
    metric: dict[str, str] = {}
    value: tuple[float, str] | None = None


class _NoValueError(Exception):
    """The server answered, and there is no value in it."""

    def __init__(self, state: str, detail: str) -> None:
        super().__init__(detail)
        self.state = state


def read(reply: Reply, max_age: float) -> Read:
    """Judge a reply; a value that is older than `max_age` seconds by the server's own clock is none."""
    try:
        envelope = msgspec.json.decode(reply.body, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Read(_refusal(reply.status, str(error)), is_well=False)
    if envelope.status == "error":
        return _error(reply.status, envelope)
    if reply.status // 100 != 2:  # noqa: PLR2004 - the class of HTTP's successes
        return Read(_refusal(reply.status, "it tells of success all the same"), is_well=False)
    told = _remarks(envelope)
    try:
        value = _value(envelope, reply.answered, max_age)
    except _NoValueError as error:
        return Read(Nothing(error.state, "; ".join([str(error), *told]), is_fault=True), is_well=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Read(Failure("error", f"an answer that can't be read: {error}"), is_well=False)
    return Read(Value(value, state="warning" if envelope.warnings else "ok", detail="; ".join(told)), is_well=True)


def short(text: str) -> str:
    """A text of others on one line, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]}…"


def _refusal(status: int, why: str) -> Failure:
    """What is no answer of the query API."""
    if status in (401, 403):
        return Failure("denied", f"HTTP status {status}: what observers.prometheus.security names is not let in")
    if status in (429, 503):
        return Failure("busy", f"HTTP status {status}")
    if status // 100 == 2:  # noqa: PLR2004
        return Failure("error", f"an answer that can't be read: {short(why)}")
    what = ": this is not the query API; look at observers.prometheus.url" if status // 100 == 4 else ""  # noqa: PLR2004
    return Failure("error", f"HTTP status {status}{what}")


def _error(status: int, envelope: _Envelope) -> Read:
    """What the query API says went wrong."""
    kind = envelope.error_type
    words = short(f"{kind}: {envelope.error}" if kind else envelope.error)
    if kind in QUERY_FAULTS:
        return Read(Failure("bad query", words), is_well=True)
    if kind in ("timeout", "canceled"):
        return Read(Failure("timeout", words), is_well=False)
    if status in (401, 403, 429, 503):
        return Read(Failure(_refusal(status, "").state, f"HTTP status {status}: {words}"), is_well=False)
    return Read(Failure("error", words or "an error without words"), is_well=False)


def _remarks(envelope: _Envelope) -> list[str]:
    warnings = [f"warning: {short(each)}" for each in envelope.warnings or ()]
    return warnings + [f"info: {short(each)}" for each in envelope.infos or ()]


def _value(envelope: _Envelope, answered: float, max_age: float) -> float:
    """The one number of an answer.

    Raises:
        _NoValueError: there is none, or another number of them than one.
        msgspec.DecodeError: the form is another.
    """
    if envelope.data is None:
        raise _NoValueError("no series", "the answer has no data")
    kind, result = envelope.data.result_type, envelope.data.result
    if kind == "scalar":
        taken, text = msgspec.json.decode(result, type=tuple[float, str])
    elif kind == "vector":
        taken, text = _only(msgspec.json.decode(result, type=list[_Series]))
    else:
        raise _NoValueError(
            "no number", f"the query gives a {short(kind)}; a scalar or a vector of one sample is needed"
        )
    age = answered - taken
    if age > max_age:
        raise _NoValueError("old", f"the newest value is {age:.0f} s old; max_age is {max_age:g} s")
    return _finite(text)


def _only(series: Sequence[_Series]) -> tuple[float, str]:
    if not series:
        raise _NoValueError("no series", "the query finds nothing: no series matches now")
    if len(series) > 1:
        some = ", ".join(_labels(each) for each in series[:2])
        raise _NoValueError(
            "several series",
            f"the query gives {len(series)} series ({some}{', …' if len(series) > 2 else ''});"  # noqa: PLR2004
            " it must give one: let it aggregate, such as by sum() or max()",
        )
    if series[0].value is None:
        raise _NoValueError("no number", "the query gives a histogram; a scalar or a vector of one sample is needed")
    return series[0].value


def _labels(series: _Series) -> str:
    labels = {key: value for key, value in sorted(series.metric.items()) if key != "__name__"}
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return short(f"{series.metric.get('__name__', '')}{{{inside}}}")


def _finite(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise _NoValueError("no number", f"the value is {short(text)!r}, which is no number")
    number = float(text)
    if math.isnan(number):
        raise _NoValueError("NaN", "the value is NaN")
    if math.isinf(number):
        raise _NoValueError("infinite", f"the value is {text}")
    return number
