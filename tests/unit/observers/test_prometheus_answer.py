"""What answers of the query API mean: one finite number is a value, and whatever else comes is none."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from observers.prometheus.answer import MOST_TEXT, Reply, read
from observers.sampler import Failure, Nothing, Value
from tests.support.query_api import Said, failure, scalar, success, vector

NOW = 1_800_000_000.0
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
RESULTS = st.sampled_from(["scalar", "vector", "matrix", "string"])


def told(said: Said) -> object:
    return read(Reply(said.status, said.body, NOW), 60.0).answer


def at(value: object, moment: float = NOW) -> Said:
    return success("scalar", [moment, value])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_finite_number_is_the_value_be_it_scalar_or_the_only_sample(number: float) -> None:
    assert told(at(repr(number))) == Value(number)
    assert told(success("vector", [{"metric": {}, "value": [NOW, repr(number)]}])) == Value(number)


@given(st.binary() | JSON.map(lambda each: json.dumps(each).encode()), st.integers(100, 599))
def test_whatever_comes_is_read_and_is_no_value(body: bytes, status: int) -> None:
    assert isinstance(read(Reply(status, body, NOW), 60.0).answer, Failure)


@given(RESULTS, JSON, st.sampled_from(["success", "error"]))
def test_whatever_the_result_is_a_value_is_finite(kind: str, result: object, status: str) -> None:
    body = json.dumps({"status": status, "data": {"resultType": kind, "result": result}}).encode()
    answer = read(Reply(200, body, NOW), 60.0).answer
    assert not isinstance(answer, Value) or math.isfinite(answer.value)


@pytest.mark.parametrize(
    ("said", "state", "words"),
    {
        "NaN": (at("NaN"), "NaN", "the value is NaN"),
        "+Inf": (at("+Inf"), "infinite", "the value is +Inf"),
        "-Inf": (at("-Inf"), "infinite", "the value is -Inf"),
        "beyond a float": (at("1e999"), "infinite", "the value is 1e999"),
        "NaN in a vector": (success("vector", [{"metric": {}, "value": [NOW, "NaN"]}]), "NaN", "the value is NaN"),
        "nothing": (success("vector", []), "no series", "the query finds nothing"),
        "no data": (Said(b'{"status": "success"}'), "no series", "the answer has no data"),
        "two series": (
            vector("1", "2"),
            "several series",
            'the query gives 2 series (depth{queue="q0"}, depth{queue="q1"}); it must give one: let it aggregate',
        ),
        "nine series": (
            vector(*"123456789"),
            "several series",
            'gives 9 series (depth{queue="q0"}, depth{queue="q1"}, …)',
        ),
        "a string": (success("string", [NOW, "5"]), "no number", "the query gives a string; a scalar or a vector"),
        "a matrix": (success("matrix", []), "no number", "the query gives a matrix"),
        "a histogram": (success("vector", [{"metric": {}, "histogram": [NOW, {}]}]), "no number", "a histogram"),
        "a word": (at("five"), "no number", "the value is 'five', which is no number"),
        "digits in groups": (at("1_000"), "no number", "the value is '1_000'"),
        "empty": (at(""), "no number", "the value is ''"),
        "10 min old": (at("5", NOW - 600), "old", "the newest value is 600 s old; max_age is 60 s"),
    }.values(),
)
def test_k90_what_is_no_value_and_why(said: Said, state: str, words: str) -> None:
    answer = told(said)
    assert isinstance(answer, Nothing), "an older value must not be used any more: there is none now"
    assert answer.state == state
    assert words in answer.detail
    assert answer.is_fault, "it is counted, by kind"


@pytest.mark.parametrize(
    ("said", "state", "words", "is_well"),
    {
        "null": (at(None), "error", "can't be read: Expected `str`, got `null`", False),
        "a number that is no text": (at(5), "error", "can't be read", False),
        "no JSON": (Said(b"<html>"), "error", "can't be read", False),
        "status=error": (
            failure("internal", "expanding series: gone"),
            "error",
            "internal: expanding series: gone",
            False,
        ),
        "a slip": (failure("bad_data", "parse error", 400), "bad query", "bad_data: parse error", True),
        "no way": (failure("execution", "many-to-many", 422), "bad query", "execution: many-to-many", True),
        "too slow": (failure("timeout", "query timed out", 503), "timeout", "timeout: query timed out", False),
        "503": (Said(b"no healthy upstream", 503), "busy", "HTTP status 503", False),
        "503 in JSON": (
            failure("unavailable", "not ready", 503),
            "busy",
            "HTTP status 503: unavailable: not ready",
            False,
        ),
        "429": (Said(b"", 429), "busy", "HTTP status 429", False),
        "401": (
            Said(b"Unauthorized", 401),
            "denied",
            "HTTP status 401: what observers.prometheus.security names",
            False,
        ),
        "403": (failure("", "forbidden", 403), "denied", "HTTP status 403: forbidden", False),
        "404": (Said(b"404 page not found", 404), "error", "HTTP status 404: this is not the query API", False),
        "502": (Said(b"<html>", 502), "error", "HTTP status 502", False),
        "error without words": (Said(b'{"status": "error"}'), "error", "an error without words", False),
        "success with 500": (Said(scalar("1").body, 500), "error", "HTTP status 500", False),
    }.values(),
)
def test_k90_what_failed_and_whose_fault_it_is(said: Said, state: str, words: str, is_well: bool) -> None:  # noqa: FBT001
    found = read(Reply(said.status, said.body, NOW), 60.0)
    assert isinstance(found.answer, Failure)
    assert found.answer.state == state
    assert words in found.answer.detail
    assert found.is_well is is_well, "only the query API itself shows that the server is well"


def test_a_number_below_zero_is_one_and_so_is_zero() -> None:
    assert told(at("-3.5")) == Value(-3.5)
    assert told(at("0")) == Value(0.0)


def test_the_age_is_by_the_servers_own_clock() -> None:
    assert told(at("5", NOW - 59)) == Value(5.0)
    assert told(at("5", NOW + 600)) == Value(5.0)


def test_warnings_and_infos_are_told_beside_the_value() -> None:
    said = success("scalar", [NOW, "5"], warnings=["one\nstore is away"], infos=["not a counter"])
    assert told(said) == Value(5.0, state="warning", detail="warning: one store is away; info: not a counter")
    assert told(success("scalar", [NOW, "5"], infos=["i"])) == Value(5.0, detail="info: i")
    nothing = told(success("vector", [], warnings=["one store is away"]))
    assert isinstance(nothing, Nothing)
    assert nothing.detail.endswith("; warning: one store is away")


def test_words_of_others_are_short_and_on_one_line() -> None:
    answer = told(failure("internal", "x\n" * 5000))
    assert isinstance(answer, Failure)
    assert len(answer.detail) == MOST_TEXT + 1
    assert "\n" not in answer.detail
