"""Random walks through the protocol core: every client arrives, and no rule is broken on the way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.protocol.fleet import Fleet
from tests.protocol.model import Client
from tests.protocol.walker import KINDS, WalkError, run
from xds_server.stream import claims, handover, session, state
from xds_server.stream.sequencer import Sequencer
from xds_server.stream.session import Session, Variant
from xds_server.stream.state import TypeState

SEEDS = [str(number) for number in range(10)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tenth_of_a_hundred_thousand_steps(seed: str) -> None:
    run(10_000, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tenth_of_a_million_steps(seed: str) -> None:
    run(100_000, f"soak-{seed}")


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.sampled_from(KINDS), st.integers(1, 60))
def test_short_walks_that_hypothesis_can_shrink(random: Random, kind: tuple[type[Client], Variant], steps: int) -> None:
    fleet = Fleet(random, [kind], prompt=True, ordered=True, bad=0.1)
    for _ in range(steps):
        fleet.step()
    fleet.drain()


def _nothing_blocked(*_: object) -> tuple[dict[str, object], set[str], int]:
    return {}, set(), 0


def _nothing(*_: object) -> dict[str, object]:
    return {}


def _not_done(*_: object) -> None:
    return None


def _true(*_: object) -> bool:
    return True


def _old_for_sure(_pending: object, _name: str, old: object, **_: object) -> object:
    return old


@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [
        pytest.param(Sequencer, "_blocked", _nothing_blocked, id="no waiting for additions"),
        pytest.param(Sequencer, "_still_used", _nothing, id="no waiting for removals"),
        pytest.param(Session, "_send_endpoints_again", _not_done, id="endpoints not sent again"),
        pytest.param(TypeState, "refused_in", _nothing, id="refusals forgotten"),
        pytest.param(session, "note_replaced", _not_done, id="handovers not noted"),
        pytest.param(handover, "_in_use", _true, id="handovers forgotten at once"),
        pytest.param(handover, "_delivered", _true, id="handovers over before what they need has come"),
        pytest.param(session, "take_over", _not_done, id="handovers forgotten with their stream"),
        pytest.param(state, "_refused", _old_for_sure, id="no doubt after a refusal"),
        pytest.param(claims, "_is_settled", _true, id="no doubt after a reconnect"),
    ],
)
def test_the_walker_finds_a_broken_core(
    owner: object, name: str, broken: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(WalkError, match="Violation"):
        run(100_000, "10")
