"""How a server's process is set up: nothing looks at all that there is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from xds_server import process


@pytest.fixture
def looks() -> Iterator[list[int]]:
    """The generations that the collector looks at."""
    seen: list[int] = []

    def note(phase: str, told: dict[str, Any]) -> None:
        if phase == "start":
            seen.append(told["generation"])

    usual = gc.get_threshold()
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()
    gc.set_threshold(*usual)


def test_to_keep_what_there_is_takes_no_look_at_all_of_it(looks: list[int]) -> None:
    world = [[number] for number in range(10_000)]
    looks.clear()
    process.keep()
    assert looks == [1], "a look at everything holds the event loop for as long as there is much"
    assert gc.get_freeze_count() > len(world)


def test_a_look_at_the_young_is_one_at_few(looks: list[int]) -> None:
    """What is made and kept while a world is read is looked at in parts, each for some milliseconds."""
    process.look_seldom()
    gc.collect()
    looks.clear()
    world = [[number] for number in range(200_000)]
    young = sum(gc.get_threshold()[:1]) * gc.get_threshold()[1]
    assert looks.count(1) >= len(world) // (young + gc.get_threshold()[0]) - 1 > 1
    assert 2 not in looks
    assert young <= 50_000
