"""A long walk: three candidates that are killed, stopped and woken up, beside an API server that hangs now and then."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import granted
from tests.support.candidate import TIMINGS, Act, Candidate, acts
from tests.support.kube import Kube, StartKube

SECONDS = 240
LEAST_GAP = TIMINGS.lease_duration - TIMINGS.renew_deadline - 0.3
"""Seconds between the acts of two leaders, but for what a process prints late."""


class Walk:
    """Three candidates, and what happens to them."""

    def __init__(self, kube: Kube, folder: Path, chance: random.Random) -> None:
        self.kube = kube
        self.config = granted.kubeconfig(kube, "default")
        self.folder = folder
        self.chance = chance
        self.all: list[Candidate] = []
        self.released: set[str] = set()
        self.alive = [self.start() for _ in range(3)]

    def start(self) -> Candidate:
        skew = self.chance.uniform(-1e6, 1e6)
        self.all.append(Candidate(self.folder, self.config, "default", f"c{len(self.all)}", skew))
        return self.all[-1]

    def step(self) -> None:
        """Do something to the leader, more often than not, and wait a little."""
        last = acts(self.alive)
        leaders = [each for each in self.alive if last and each.name == last[-1][0]]
        victim = self.chance.choice(leaders * 3 + self.alive)
        what = self.chance.choice(("kill", "leave", "freeze", "freeze", "hang"))
        if what == "hang":
            self.kube.freeze()
            time.sleep(self.chance.uniform(0.5, 6))
            self.kube.thaw()
        elif what == "freeze":
            victim.process.freeze()
            time.sleep(self.chance.uniform(0.5, 8))
            victim.process.thaw()
        else:
            if what == "kill":
                victim.process.kill()
            else:
                victim.process.stop()
                self.released.add(victim.name)
            self.alive[self.alive.index(victim)] = self.start()
        time.sleep(self.chance.uniform(0.5, 6))

    def stop(self) -> None:
        for each in self.alive:
            each.process.stop()


@pytest.mark.soak
@pytest.mark.timeout(2 * SECONDS + 120)
def test_never_two_and_always_one_again(own_kube: StartKube, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"{seed=}")  # noqa: T201
    walk = Walk(own_kube(), tmp_path, random.Random(seed))
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            walk.step()
        time.sleep(2 * TIMINGS.lease_duration + 3)
        assert time.monotonic() - acts(walk.alive)[-1][1] < 1
    finally:
        walk.stop()
    found = acts(walk.all)
    changes = [(one, two) for one, two in pairwise(found) if one[0] != two[0]]
    assert len(changes) > 5
    assert not [pair for pair in changes if _is_too_soon(walk, *pair)]


def _is_too_soon(walk: Walk, one: Act, two: Act) -> bool:
    """Whether two acted in a row without the time between them that a lease's end leaves; a release needs none."""
    return one[0] not in walk.released and two[1] - one[1] < LEAST_GAP
