"""K13 without I/O: an ACK may come as fast as it likes, no update is lost and none comes out of order."""

from __future__ import annotations

from tests.unit.stream.talk import KEYS, Talk
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant


@BOTH
def test_k13_each_ack_is_known_at_once(variant: Variant) -> None:
    talk = Talk(variant, **dict.fromkeys(KEYS, "a=0"))
    for key in KEYS:
        assert talk.ask(key, "a") == [f"{key} a=0"]
        assert talk.ack(key) == []
    for number in range(1, 200):
        key = KEYS[number % len(KEYS)]
        assert talk.declare(**{key: f"a={number}"}) == [f"{key} a={number}"]
        assert talk.ack(key) == []
        assert talk.session.in_sync()


@BOTH
def test_k13_a_slow_one_gets_the_newest_and_not_what_lay_between(variant: Variant) -> None:
    talk = Talk(variant, eds="a=0")
    talk.ask("eds", "a")
    for number in range(1, 50):
        assert talk.declare(eds=f"a={number}") == [], "one response of a type is on its way, no more"
    talk.play("""
        ack eds   -> eds a=49
        ack eds   ->
        wait 100  ->
    """)
