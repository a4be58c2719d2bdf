"""Durations, sizes and shares: what they become, what is refused, and that they can be written back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter, ValidationError

from xds_server.settings.units import Count, Duration, Interval, Share, Size, duration_text, seconds, size_text


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("10ms", 0.01),
        ("5s", 5),
        ("168h", 604_800),
        ("1m30s", 90),
        ("1h2m3s4ms5us", 3723.004005),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("0s", 0),
        ("0", 0),
        ("5", 5),
        (" 5s ", 5),
        (5, 5),
        (0.25, 0.25),
    ],
)
def test_durations(written: object, wanted: float) -> None:
    assert TypeAdapter(Duration).validate_python(written) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "s",
        "5x",
        "5 s",
        "5s1m",
        "1s1s",
        "-5s",
        "-1",
        -1,
        True,
        None,
        "inf",
        "nan",
        math.inf,
        math.nan,
        [],
        "1d",
        "٣s",
    ],
)
def test_what_is_no_duration(written: object) -> None:
    with pytest.raises(ValidationError, match="a duration such as"):
        TypeAdapter(Duration).validate_python(written)


def test_an_interval_is_more_than_nothing() -> None:
    assert TypeAdapter(Interval).validate_python("1us") > 0
    with pytest.raises(ValidationError, match="above 0"):
        TypeAdapter(Interval).validate_python("0s")


@given(st.integers(min_value=0, max_value=10**13))
def test_a_duration_survives_being_written(microseconds: int) -> None:
    value = microseconds / 1_000_000
    assert seconds(duration_text(value)) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("16MiB", 16 << 20), ("512 KiB", 512 << 10), ("1kb", 1000), ("1g", 10**9), ("1.5KiB", 1536), ("7", 7), (7, 7)],
)
def test_sizes(written: object, wanted: int) -> None:
    assert TypeAdapter(Size).validate_python(written) == wanted


@pytest.mark.parametrize("written", ["", "MiB", "16 apples", "-1", -1, 0, "0", True, None, 1.5, [], "1 bit"])
def test_what_is_no_size(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Size).validate_python(written)


def test_sizes_are_written_with_the_largest_unit() -> None:
    assert [size_text(n) for n in (1 << 30, 16 << 20, 1536, 3 << 10, 0)] == ["1GiB", "16MiB", "1536B", "3KiB", "0B"]


@pytest.mark.parametrize(("written", "wanted"), [(1, 1), ("3", 3), ("10%", "10%"), ("100%", "100%")])
def test_shares(written: object, wanted: Any) -> None:
    assert TypeAdapter(Share).validate_python(written) == wanted


@pytest.mark.parametrize("written", [0, -1, "0%", "101%", "1.5%", "%", "", True, None, 1.5])
def test_what_is_no_share(written: object) -> None:
    with pytest.raises(ValidationError, match="a count of 1 or more"):
        TypeAdapter(Share).validate_python(written)


@pytest.mark.parametrize("written", [0, -1, True, 1.0, "x", None])
def test_what_is_no_count(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Count).validate_python(written)
