"""The guard that counts work: one endpoint's change costs the same whatever the size of the configuration."""

from __future__ import annotations

import pytest

from bench import flat
from bench.flat import Cost

SIZES = (20, 400)
SESSIONS = 8


@pytest.fixture(scope="module")
def costs() -> list[Cost]:
    return flat.measure(SIZES, sessions=SESSIONS, changes=2)


@pytest.mark.parametrize("mode", ["delta", "sotw"])
def test_the_work_of_a_change_does_not_grow(costs: list[Cost], mode: str) -> None:
    small, large = (each.work for each in costs if each.mode == mode)
    assert small.calls == pytest.approx(large.calls, rel=0.02)


def test_a_change_is_decoded_decided_and_built_once_for_all_sessions(costs: list[Cost]) -> None:
    for each in costs:
        work = each.work
        assert (work.decoded, work.resources, work.decisions, work.responses) == (1, 1, 1, 1)


def test_a_response_holds_what_changed_and_no_more(costs: list[Cost]) -> None:
    for mode in ("delta", "sotw"):
        small, large = (each.work.built_bytes for each in costs if each.mode == mode)
        assert 0 < small == pytest.approx(large, abs=16)
