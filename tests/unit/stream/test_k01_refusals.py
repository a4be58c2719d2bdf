"""K01 and K02 without I/O: what a refusal is, and that it starts no loop."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import KEYS, Talk
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant


@BOTH
@pytest.mark.parametrize("key", KEYS)
def test_k01_a_nack_must_not_start_a_resend_loop(variant: Variant, key: str) -> None:
    talk = Talk(variant, **{key: "a=1"})
    talk.play(f"""
        ask {key} a         -> {key} a=1
        ack {key}           ->
        declare {key} a=2   -> {key} a=2
        nack {key}          ->
        wait 100            ->
        declare {key} a=2   ->
        wait 100            ->
        declare {key} a=3   -> {key} a=3
        nack {key}          ->
        declare {key} a=2   ->
        declare {key} a=4   -> {key} a=4
        ack {key}           ->
        wait 100            ->
    """)
    assert [answer.error is not None for answer in talk.session.answers] == [False, True, True, False]


@BOTH
@pytest.mark.parametrize("key", KEYS)
def test_k01_a_new_stream_may_be_a_new_client(variant: Variant, key: str) -> None:
    talk = Talk(variant, **{key: "a=1"})
    talk.play(f"""
        ask {key} a   -> {key} a=1
        nack {key}    ->
        reconnect     ->
        ask {key} a   -> {key} a=1
    """)


def test_k02_a_nack_at_an_unchanged_version() -> None:
    talk = Talk(Variant.SOTW, eds="a=1 b=1")
    talk.play("""
        ask eds a     -> eds a=1
        ack eds       ->
        ask eds a b   -> eds b=1
        nack eds      ->
    """)
    state = next(iter(talk.session.states.values()))
    assert state.last_nacked is not None
    assert state.last_nacked.refused == {("b", talk.snapshot.types[state.type_url].version_of("b"))}
    assert "a" in state.acked
    assert "b" not in state.acked


@BOTH
def test_k02_a_stale_request_without_error_is_no_nack(variant: Variant) -> None:
    talk = Talk(variant, eds="a=1")
    talk.ask("eds", "a")
    stale = talk.nonce("eds")
    talk.ack("eds")
    talk.declare(eds="a=2 b=1")
    talk.ask("eds", "a", "b", nonce=stale)
    state = next(iter(talk.session.states.values()))
    assert [answer.error for answer in talk.session.answers] == [None]
    assert state.last_nacked is None
    assert state.pending
