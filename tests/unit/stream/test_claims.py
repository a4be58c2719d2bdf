"""What a client claims on a new stream, and what is believed of it."""

from __future__ import annotations

from tests.unit.stream.talk import Talk
from tests.unit.stream.test_shared_steps import BOTH
from xds_server.stream.session import Variant

NAMED = "Error adding/updating cluster(s) bad: it is bad"


def refused_in_part(variant: Variant) -> Talk:
    """A client that has accepted `a` and was then sent a good change of `a` with a bad cluster, which it refused."""
    talk = Talk(variant, cds="a=1")
    talk.ask("cds")
    talk.settle()
    talk.declare(cds="a=2 bad=1")
    talk.nack("cds", NAMED)
    return talk


def test_what_was_applied_of_a_refused_response_is_not_what_delta_claims() -> None:
    """Envoy claims a=1 though it works with a=2; so a=1 is sent when it is declared again."""
    talk = refused_in_part(Variant.DELTA)
    talk.declare(cds="a=1")
    talk.reconnect()
    assert talk.held["cds"].keys() == {"a"}
    assert talk.ask("cds") == ["cds a=1"]


def test_what_a_refused_response_removed_is_still_claimed_in_delta() -> None:
    talk = Talk(Variant.DELTA, cds="a=1 b=1")
    talk.ask("cds")
    talk.settle()
    talk.declare(cds="b=1 bad=1")
    talk.nack("cds", NAMED)
    talk.declare(cds="a=1 b=1")
    talk.reconnect()
    assert talk.ask("cds") == ["cds a=1"]


def test_what_was_applied_and_never_claimed_is_removed_in_delta() -> None:
    talk = Talk(Variant.DELTA, cds="a=1 bad=1")
    talk.ask("cds")
    talk.nack("cds", NAMED)
    talk.reconnect()
    talk.declare(cds="b=1")
    assert talk.ask("cds") == ["cds b=1 -a"]


def test_a_claim_that_came_later_than_all_that_is_known_is_believed() -> None:
    """The client was with another replica meanwhile."""
    talk = refused_in_part(Variant.DELTA)
    talk.declare(cds="a=3")
    talk.held["cds"] = {"a": talk.snapshot.typeset(talk.session.states.popitem()[0]).resources["a"].version}
    talk.reconnect()
    assert talk.ask("cds") == ["cds"], "the first answer, which holds nothing"


def test_an_unanswered_response_that_the_client_claims_is_not_sent_again() -> None:
    talk = Talk(Variant.DELTA, eds="a=1")
    talk.ask("eds", "a")
    talk.settle()
    talk.declare(eds="a=2")
    talk.ack("eds")
    talk.reconnect()
    assert talk.ask("eds", "a") == []


@BOTH
def test_a_process_that_claims_nothing_is_a_new_one(variant: Variant) -> None:
    """What the node's former process had is no guess for what this one has, not even on its next stream."""
    talk = Talk(variant, cds="a=1 b=1", lds="l=1>r", rds="r=1>a")
    for key, *names in (("cds",), ("lds",), ("rds", "r")):
        talk.ask(key, *names)
    talk.settle()
    talk.reconnect()
    talk.version.clear()
    talk.held.clear()
    talk.declare(cds="b=1", lds="l=2>r", rds="r=2>b")
    assert talk.ask("cds") == ["cds b=1"]
    talk.reconnect()
    talk.ask("eds", "b")
    talk.ask("cds")
    assert talk.ask("lds") == [], "it waits for b; the former l=1 would refer to a, which this process never had"
    assert talk.settle()[-1] == "lds l=2>r"
    assert talk.ask("rds", "r") == ["rds r=2>b"]


@BOTH
def test_what_is_accepted_next_to_a_named_culprit_is_no_suspect_any_more(variant: Variant) -> None:
    """`good` was refused together with `bad`, then accepted while `bad` was named; later it must not be taken away."""
    talk = Talk(variant, cds="")
    talk.ask("cds")
    talk.settle()
    talk.declare(cds="good=1 bad=1")
    talk.nack("cds")
    talk.declare(cds="good=1 bad=2")
    talk.nack("cds", NAMED)
    said = talk.declare(cds="good=1 bad=1 more=1")
    assert all("good=1" in each or variant is Variant.DELTA for each in said)
    assert not any("-good" in each for each in said)
    assert "good" in talk.session.states.popitem()[1].held
