"""K03, K04 and K08 without I/O: a change of the subscription is never lost, and a wildcard is a state of its own."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import KEYS, Talk
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant


def test_k03_new_names_on_a_stale_nonce_come_once_the_response_before_is_answered() -> None:
    talk = Talk(Variant.SOTW, eds="a=1 b=1")
    talk.ask("eds", "a")
    stale = talk.nonce("eds")
    talk.ack("eds")
    assert talk.declare(eds="a=2 b=1") == ["eds a=2"]
    assert talk.ask("eds", "a", "b", nonce=stale) == [], "at most one response of a type is on its way"
    talk.play("""
        ack eds    -> eds b=1
        ack eds    ->
        wait 100   ->
    """)


def test_k03_delta_ignores_no_request_for_its_nonce() -> None:
    talk = Talk(Variant.DELTA, eds="a=1 b=1")
    talk.ask("eds", "a")
    stale = talk.nonce("eds")
    talk.ack("eds")
    assert talk.declare(eds="a=2 b=1") == ["eds a=2"]
    assert talk.ask("eds", "a", "b", nonce=stale) == ["eds b=1"], "at once: the client waits for it"
    assert talk.settle() == []


@BOTH
@pytest.mark.parametrize("key", KEYS)
def test_k04_unsubscribe_then_subscribe_again(variant: Variant, key: str) -> None:
    both = f"{key} a=1 b=1" if variant is Variant.SOTW and key in {"cds", "lds"} else f"{key} b=1"
    talk = Talk(variant, **{key: "a=1 b=1"})
    talk.play(f"""
        ask {key} a b   -> {key} a=1 b=1
        ack {key}       ->
        ask {key} a     ->
        wait 2          ->
        ask {key} a b   -> {both}
        ack {key}       ->
        wait 100        ->
    """)


def test_k08_wildcard_is_a_state_of_its_own_in_delta() -> None:
    Talk(Variant.DELTA, cds="A=1 B=1").play("""
        ask cds             -> cds A=1 B=1
        ack cds             ->
        ask cds A           -> cds A=1
        ack cds             ->
        declare cds A=1 B=2 -> cds B=2
        ack cds             ->
    """)
    talk = Talk(Variant.DELTA, cds="A=1 B=1")
    talk.play("""
        ask cds * A         -> cds A=1 B=1
        ack cds             ->
        ask cds A           ->
        declare cds A=1 B=2 ->
        declare cds A=2 B=2 -> cds A=2
        ack cds             ->
        ask cds             ->
        declare cds A=3 B=3 ->
    """)


def test_k08_a_name_that_is_unsubscribed_under_the_wildcard_is_answered_with_what_it_still_gives() -> None:
    Talk(Variant.DELTA, cds="A=1 B=1").play("""
        ask cds     -> cds A=1 B=1
        ack cds     ->
        ask cds A   -> cds A=1
        ack cds     ->
        ask cds     -> cds A=1
        ack cds     ->
        wait 100    ->
    """)


def test_k08_wildcard_is_a_state_of_its_own_in_sotw() -> None:
    Talk(Variant.SOTW, cds="A=1 B=1").play("""
        ask cds             -> cds A=1 B=1
        ack cds             ->
        declare cds A=1 B=2 -> cds A=1 B=2
        ack cds             ->
        ask cds * A         ->
        declare cds A=1 B=3 -> cds A=1 B=3
        ack cds             ->
        ask cds A           ->
        declare cds A=1 B=4 ->
        ask cds             ->
        declare cds A=1 B=5 ->
    """)


@BOTH
def test_k08_a_wildcard_that_comes_later_brings_the_rest(variant: Variant) -> None:
    Talk(variant, cds="A=1 B=1").play(f"""
        ask cds A   -> cds A=1
        ack cds     ->
        ask cds * A -> cds {"A=1 " if variant is Variant.SOTW else ""}B=1
        ack cds     ->
        wait 100    ->
    """)
