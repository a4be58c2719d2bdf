"""The search for who is to blame: all of them, nobody else, and with few questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import given, strategies as st

from xds_server.snapshot.preflight.search import examine, in_order
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE

NAMES = st.sets(st.integers(0, 60), max_size=40)


def resource(number: int, type_url: str = "") -> Resource:
    url = type_url or (ENDPOINT, CLUSTER, ROUTE, LISTENER)[number % 4]
    return Resource(f"resource-{number}", url, f"body of {number};".encode())


@given(numbers=NAMES, bad=NAMES, told=st.booleans())
def test_exactly_the_bad_ones_are_found(*, numbers: set[int], bad: set[int], told: bool) -> None:
    asked = 0
    culprits = {f"resource-{number}" for number in numbers & bad}

    def ask(some: Sequence[Resource]) -> str | None:
        nonlocal asked
        asked += 1
        found = [each.name for each in some if each.name in culprits]
        return None if not found else f"error: '{found[0]}' is wrong" if told else "error"

    refusals = list(examine([resource(number) for number in numbers], ask))
    assert {refusal.resource.name for refusal in refusals} == culprits
    each = 3 if told else math.ceil(math.log2(len(numbers) + 1)) + 1
    assert asked <= 1 + len(culprits) * each


def test_what_is_referred_to_is_blamed_before_what_refers_to_it() -> None:
    routes, listener = resource(1, ROUTE), resource(0, LISTENER)

    def ask(some: Sequence[Resource]) -> str | None:
        return "missing ]: [a" if routes in some else None

    assert [refusal.resource for refusal in examine([listener, routes], ask)] == [routes]
    assert in_order([listener, routes]) == [routes, listener]


def test_of_two_that_exclude_each_other_the_later_one_goes() -> None:
    one, two = resource(1, LISTENER), resource(2, LISTENER)

    def ask(some: Sequence[Resource]) -> str | None:
        return "duplicate address" if {one, two} <= set(some) else None

    (refusal,) = examine([two, one], ask)
    assert refusal.resource is two
    assert refusal.words == "duplicate address"


def test_a_text_that_envoy_quotes_saves_questions() -> None:
    asked: list[int] = []
    resources = [Resource(f"r{number:03}", ROUTE, f"regex-{number:03}-".encode()) for number in range(200)]

    def ask(some: Sequence[Resource]) -> str | None:
        asked.append(len(some))
        return "no: regex-077-" if any(each.name == "r077" for each in some) else None

    assert [refusal.resource.name for refusal in examine(resources, ask)] == ["r077"]
    assert asked == [200, 77, 78, 199]
