"""Rule 11 without I/O: make before break across streams, with a server that remembers and one that was restarted."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import Talk
from tests.unit.stream.test_rule_08_order import MOVE, envoy, words
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant


def moved_meanwhile(variant: Variant) -> Talk:
    """An Envoy whose stream broke before the route moved; the server remembers it."""
    talk = envoy(variant)
    talk.reconnect()
    talk.play(f"{MOVE} ->")
    return talk


@BOTH
def test_the_first_answers_keep_what_the_routes_may_still_use(variant: Variant) -> None:
    moved_meanwhile(variant).play(f"""
        ask cds      -> {words(variant, sotw="cds a=1>a b=1>b", delta="cds b=1>b")}
        ask eds a    -> {words(variant, sotw="eds a=1", delta="")}
        {words(variant, sotw="ack eds ->", delta="")}
        ask eds a b  -> eds b=1
        ack eds      ->
        ask lds      -> {words(variant, sotw="", delta="lds")}
        ask rds r    -> {words(variant, sotw="rds r=1>a", delta="")}
        {words(variant, sotw="ack rds ->", delta="")}
        wait 1       ->
        ack cds      -> rds r=2>b
        wait 1       ->
        ack rds      -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
    """)


@BOTH
def test_what_a_client_never_asks_for_again_counts_no_longer_than_the_removal_timeout(variant: Variant) -> None:
    moved_meanwhile(variant).play(f"""
        ask cds    -> {words(variant, sotw="cds a=1>a b=1>b", delta="cds b=1>b")}
        ack cds    ->
        wait 14.9  ->
        wait 0.2   -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
    """)


@pytest.mark.parametrize("answer", ["ack", "lose"])
def test_a_former_listener_serves_on_across_streams(answer: str) -> None:
    """Its successor was accepted, whether the server has heard of it or not, and waits for its routes still."""
    talk = envoy(Variant.DELTA)
    talk.declare(cds="a=1>a b=1>b", eds="a=1 b=1", rds="r=1>a q=1>b")
    talk.ask("eds", "a", "b")
    talk.settle()
    talk.play(f"""
        declare cds b=1>b | eds b=1 | lds l=2>q | rds q=1>b -> lds l=2>q
        {answer} lds ->
        reconnect    ->
        ask cds      -> cds
        ack cds      ->
        ask eds a b  ->
        ask lds      -> lds
        ack lds      ->
        ask rds r q  -> rds q=1>b
        wait 1       ->
        ack rds      -> rds -r
        ack rds      -> cds -a
        ack cds      -> eds -a
    """)


@pytest.mark.parametrize("answer", ["ack", "lose"])
def test_a_former_listener_is_waited_for_no_longer_than_the_removal_timeout(answer: str) -> None:
    talk = envoy(Variant.DELTA)
    talk.play(f"""
        declare lds l=2>q | rds q=1>a -> lds l=2>q
        {answer} lds ->
        reconnect    ->
        ask lds      -> lds
        ack lds      ->
        ask rds r    ->
        wait 14.9    ->
        wait 0.2     -> rds -r
    """)


def restarted(script: str) -> None:
    """A delta Envoy and a server that was restarted, which knows nothing, and whose route has moved."""
    talk = envoy(Variant.DELTA)
    talk.play(f"""
        restart    ->
        {MOVE}     ->
        {script}
    """)


def test_after_a_restart_claimed_clusters_stay_until_the_routes_on_this_stream_are_accepted() -> None:
    restarted("""
        ask cds      ->
        ask eds a    ->
        ask lds      -> cds b=1>b; lds
        ask rds r    ->
        ask eds a b  -> eds b=1
        ack eds      ->
        ack lds      ->
        wait 1       ->
        ack cds      -> rds r=2>b
        wait 1       ->
        ack rds      -> cds -a
        ack cds      -> eds -a
    """)


def test_after_a_restart_clusters_wait_a_moment_for_what_may_use_them() -> None:
    restarted("""
        ask cds    ->
        wait 0.2   ->
        wait 0.2   -> cds b=1>b -a
    """)


def test_after_a_restart_nothing_waits_that_takes_nothing_away() -> None:
    talk = envoy(Variant.DELTA)
    talk.play("""
        restart                              ->
        declare cds a=1>a b=1>b | eds a=1 b=1 ->
        ask cds                              -> cds b=1>b
    """)
