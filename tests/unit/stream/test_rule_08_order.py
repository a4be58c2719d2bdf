"""Rule 8 without I/O: make before break, and the bounds of its waits (5 s for additions, 15 s for removals)."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import URLS, Talk
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant

MOVE = "declare cds b=1>b | eds b=1 | rds r=2>b"
"""Route r moves from cluster a to a new cluster b, and a goes."""


def words(variant: Variant, *, sotw: str, delta: str) -> str:
    """What the server says in this variant."""
    return sotw if variant is Variant.SOTW else delta


def envoy(variant: Variant) -> Talk:
    """An Envoy that has accepted route r to cluster a."""
    talk = Talk(variant, cds="a=1>a", eds="a=1", lds="l=1>r", rds="r=1>a")
    for key, names in (("cds", ""), ("eds", "a"), ("lds", ""), ("rds", "r")):
        talk.ask(key, *names.split())
        talk.settle()
    assert talk.session.in_sync()
    return talk


def moving(variant: Variant) -> Talk:
    """The same, which was sent a new cluster b, to which the route is to move."""
    talk = envoy(variant)
    talk.play(f"{MOVE} -> {words(variant, sotw='cds a=1>a b=1>b', delta='cds b=1>b')}")
    return talk


def timeouts(talk: Talk, key: str) -> int:
    """How many waits of a type have run out."""
    return talk.session.states[URLS[key]].timeouts


@BOTH
def test_a_route_moves_to_a_new_cluster_and_the_old_one_goes(variant: Variant) -> None:
    moving(variant).play(f"""
        wait 1       ->
        ask eds a b  -> eds b=1
        ack eds      ->
        ack cds      -> rds r=2>b
        wait 1       ->
        ack rds      -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
        ack cds      -> {words(variant, sotw="", delta="eds -a")}
        ask eds b    ->
        wait 100     ->
    """)


@BOTH
def test_back_before_the_route_was_accepted(variant: Variant) -> None:
    """The old cluster was never taken away, so going back needs no more than the route."""
    moving(variant).play(f"""
        ask eds a b  -> eds b=1
        ack eds      ->
        ack cds      -> rds r=2>b
        declare cds a=1>a | eds a=1 | rds r=1>a ->
        ack rds      -> rds r=1>a
        ack rds      -> {words(variant, sotw="cds a=1>a", delta="cds -b")}
    """)


@BOTH
def test_endpoints_wait_for_nothing(variant: Variant) -> None:
    moving(variant).play("""
        ask eds a b  -> eds b=1
        ack eds      ->
        declare eds b=2 -> eds b=2
        ack eds      ->
        declare eds b=3 -> eds b=3
    """)


@BOTH
def test_a_wait_for_an_addition_ends_after_the_order_timeout(variant: Variant) -> None:
    talk = moving(variant)
    talk.play("""
        wait 4.9  ->
        wait 0.2  -> rds r=2>b
    """)
    assert timeouts(talk, "rds") == 1
    assert talk.session.overdue == [URLS["rds"]]


@BOTH
def test_no_wait_ends_with_a_reference_to_a_cluster_that_was_not_sent(variant: Variant) -> None:
    talk = envoy(variant)
    talk.declare(cds="a=2>a", eds="a=1", rds="r=1>a")
    talk.ack("eds")
    talk.play(f"""
        {MOVE}    ->
        wait 1000 ->
        ack cds   -> {words(variant, sotw="cds a=2>a b=1>b", delta="cds b=1>b")}
        ack cds   -> rds r=2>b
    """)


@BOTH
@pytest.mark.parametrize("text", ["no", "Error adding/updating cluster(s) b: it is bad"])
def test_no_wait_ends_with_a_reference_to_a_cluster_that_was_refused(variant: Variant, text: str) -> None:
    talk = moving(variant)
    assert talk.nack("cds", text) == []
    talk.play(f"""
        wait 1000         ->
        declare cds b=2>b -> {words(variant, sotw="cds a=1>a b=2>b", delta="cds b=2>b")}
        ack cds           -> rds r=2>b
    """)


@BOTH
def test_a_wait_for_a_removal_ends_after_the_removal_timeout_of_silence(variant: Variant) -> None:
    talk = moving(variant)
    talk.ask("eds", "a", "b")
    talk.ack("eds")
    talk.play(f"""
        ack cds    -> rds r=2>b
        wait 14.9  ->
        wait 0.2   -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
    """)
    assert timeouts(talk, "rds") == 1
    assert talk.session.overdue == [URLS["rds"]]


@BOTH
def test_a_node_that_refused_keeps_what_it_uses_without_limit(variant: Variant) -> None:
    talk = moving(variant)
    talk.ask("eds", "a", "b")
    talk.ack("eds")
    talk.play(f"""
        ack cds    -> rds r=2>b
        nack rds   ->
        wait 1000  ->
        declare rds r=3>b -> rds r=3>b
        wait 1     ->
        ack rds    -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
    """)


@BOTH
def test_a_listener_goes_before_its_route_and_the_route_before_its_cluster(variant: Variant) -> None:
    removed = words(variant, sotw="lds", delta="lds -l")
    talk = envoy(variant)
    talk.play(f"""
        declare cds | eds | lds | rds -> {removed}
        wait 1   ->
    """)
    said = talk.settle()
    assert said == words(variant, sotw="cds", delta="rds -r,cds -a,eds -a").split(",")


@BOTH
def test_a_former_listener_serves_until_the_routes_of_its_successor_have_come(variant: Variant) -> None:
    """Envoy accepts a listener at once; so its ACK does not tell that the former route is used no more."""
    talk = envoy(variant)
    listener = "declare cds a=1>a b=1>b | eds a=1 b=1 | lds l=1>r | rds r=1>a q=1>b"
    talk.play(f"{listener} -> {words(variant, sotw='cds a=1>a b=1>b', delta='cds b=1>b')}")
    talk.ask("eds", "a", "b")
    talk.settle()
    talk.play(f"""
        declare cds b=1>b | eds b=1 | lds l=2>q | rds q=1>b -> lds l=2>q
        ack lds      ->
        wait 1       ->
        ask rds r q  -> rds q=1>b
        wait 1       ->
        ack rds      -> {words(variant, sotw="cds b=1>b", delta="rds -r")}
        {words(variant, sotw="", delta="ack rds -> cds -a")}
    """)


@BOTH
def test_a_successor_whose_routes_are_never_asked_for_is_in_use_after_the_removal_timeout(variant: Variant) -> None:
    talk = envoy(variant)
    talk.play("""
        declare lds l=2>q | rds q=1>a -> lds l=2>q
        ack lds      ->
        wait 14.9    ->
    """)
    assert "r" in talk.session.states[URLS["rds"]].held
    talk.play(f"wait 0.2 -> {words(variant, sotw='', delta='rds -r')}")


@BOTH
def test_a_client_that_asks_for_clusters_by_name_gets_the_route_at_once(variant: Variant) -> None:
    """It learns the cluster's name from the route, and uses the former one until all of the new one is there."""
    talk = Talk(variant, cds="a=1>a", eds="a=1", lds="l=1>r", rds="r=1>a")
    for key, name in (("lds", "l"), ("rds", "r"), ("cds", "a"), ("eds", "a")):
        talk.ask(key, name)
        talk.settle()
    talk.play(f"""
        {MOVE}       -> rds r=2>b
        ack rds      ->
        ask cds a b  -> {words(variant, sotw="cds a=1>a b=1>b", delta="cds b=1>b")}
        ack cds      ->
        ask eds a b  -> eds b=1
        wait 1       ->
        ack eds      -> {words(variant, sotw="cds b=1>b", delta="cds -a")}
    """)


@BOTH
def test_the_stream_of_one_type_waits_for_nothing(variant: Variant) -> None:
    Talk(variant, rds="r=1>a").play("""
        ask rds r         -> rds r=1>a
        ack rds           ->
        declare rds r=2>b -> rds r=2>b
    """)


@BOTH
def test_rule_7_a_cluster_that_is_sent_again_gets_its_endpoints_again(variant: Variant) -> None:
    talk = envoy(variant)
    talk.play("declare cds a=2>a -> cds a=2>a; eds a=1")
