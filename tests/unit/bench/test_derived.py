"""The guard that counts work: a change of a gateway's facts costs the same whatever the number of services and routes."""

from __future__ import annotations

import pytest

from bench import derived
from bench.derived import Derived

SIZES = (100, 1000)
CHANGES = ("one endpoint", "one route", "one verdict")


@pytest.fixture(scope="module")
def costs() -> list[Derived]:
    return derived.measure(SIZES, changes=1)


def pair(costs: list[Derived], change: str, *, one_port: bool) -> tuple[Derived, Derived]:
    """Of a change the cost among few and among many; all routes on one port, or those of a gateway."""
    few, many = [each for each in costs if each.change == change][2 * one_port :][:2]
    assert (few.services, many.services) == SIZES
    assert (many.routes_on_port == many.routes) is one_port
    return few, many


@pytest.mark.parametrize("change", CHANGES)
def test_the_work_of_a_change_does_not_grow(costs: list[Derived], change: str) -> None:
    few, many = pair(costs, change, one_port=False)
    assert many.work.calls == pytest.approx(few.work.calls, rel=0.02)
    assert (many.made, many.resources, many.resource_bytes) == (few.made, few.resources, few.resource_bytes)


@pytest.mark.parametrize("change", CHANGES)
def test_one_resource_is_made_and_one_decision_taken(costs: list[Derived], change: str) -> None:
    for each in costs:
        if each.change == change:
            assert (each.resources, each.work.resources, each.work.decisions, each.work.decoded) == (1, 1, 1, 0)


def test_of_routes_on_one_port_only_the_bytes_are_copied(costs: list[Derived]) -> None:
    few, many = pair(costs, "one verdict", one_port=True)
    assert many.made == few.made
    assert many.resource_bytes == pytest.approx(few.resource_bytes * 10, rel=0.1)
    assert many.work.calls < few.work.calls * 1.5, "not a call for each of ten times as many routes"
    few, many = pair(costs, "one endpoint", one_port=True)
    assert many.work.calls == pytest.approx(few.work.calls, rel=0.02)
