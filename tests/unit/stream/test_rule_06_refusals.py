"""Rule 6: what was refused is told, is not sent again on that stream, and holds back nothing else."""

from __future__ import annotations

import pytest

from tests.unit.stream.talk import Talk
from tests.unit.stream.test_shared_steps import BOTH, ack, first, snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.report import standing_nack
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import DeltaRequest, ErrorDetail, SotwRequest
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response
from xds_server.wire.types import CLUSTER

CONSTRAINT = """goo.gle/debugproto
name: "bad"
type: STATIC
load_assignment {
  cluster_name: "good"
}
: Proto constraint validation failed (ClusterValidationError.LoadAssignment: embedded message failed validation)"""


def clusters(**contents: str) -> Typeset:
    """Clusters by name and content."""
    return Typeset(CLUSTER, {name: Resource(name, CLUSTER, text.encode()) for name, text in contents.items()})


def evolve(before: Typeset, **contents: str) -> Typeset:
    """The clusters after a change."""
    return before.evolve({name: Resource(name, CLUSTER, text.encode()) for name, text in contents.items()})


def nack(variant: Variant, response: Response, text: str) -> SotwRequest | DeltaRequest:
    """A NACK in these words."""
    error = ErrorDetail(13, text)
    if variant is Variant.SOTW:
        return SotwRequest(CLUSTER, nonce=response.nonce, error=error)
    return DeltaRequest(CLUSTER, nonce=response.nonce, error=error)


def opened(variant: Variant, typeset: Typeset) -> tuple[Session, Response]:
    """A session that has been sent all clusters."""
    session = Session(variant)
    session.publish(snapshot(1, typeset), 0.0)
    return session, session.receive(first(variant, CLUSTER), 0.0)[0]


@BOTH
def test_of_a_response_that_breaks_a_constraint_the_rest_is_sent_again_without_it(variant: Variant) -> None:
    """Envoy checks constraints before it applies anything, so the rest is not there (K25: new proxies come up empty)."""
    session, sent = opened(variant, clusters(good="1", bad="1"))
    rest = session.receive(nack(variant, sent, CONSTRAINT), 1.0)
    assert [set(each.changes) for each in rest] == [{"good"}]
    assert session.receive(ack(variant, CLUSTER, rest[0].nonce), 2.0) == []
    nacked = session.states[CLUSTER].last_nacked
    assert nacked is not None
    assert {name for name, _ in nacked.refused} == {"bad"}


@BOTH
def test_what_envoy_names_is_refused_and_the_rest_accepted(variant: Variant) -> None:
    session, sent = opened(variant, clusters(good="1", bad="1"))
    assert session.receive(nack(variant, sent, "Error adding/updating cluster(s) bad: it is bad"), 1.0) == []
    assert "good" in session.states[CLUSTER].acked
    assert "bad" not in session.states[CLUSTER].acked


@BOTH
@pytest.mark.parametrize("text", [CONSTRAINT, "Error adding/updating cluster(s) bad: it is bad", "no"])
def test_the_next_content_heals_and_the_refused_one_never_comes_back(variant: Variant, text: str) -> None:
    started = clusters(good="1")
    session, sent = opened(variant, started)
    session.receive(ack(variant, CLUSTER, sent.nonce), 0.0)
    refused = evolve(started, bad="1")
    (sent,) = session.publish(snapshot(2, refused), 1.0)
    assert session.receive(nack(variant, sent, text), 1.0) == []
    assert session.publish(snapshot(3, started.evolve({})), 2.0) == []
    assert session.publish(snapshot(4, evolve(started, bad="1")), 3.0) == [], "A→B→A→B: B was refused"
    (healed,) = session.publish(snapshot(5, evolve(started, bad="2")), 4.0)
    assert "bad" in healed.changes
    state = session.states[CLUSTER]
    assert standing_nack(state, session.snapshot), "told until the node has accepted something newer"
    session.receive(ack(variant, CLUSTER, healed.nonce), 5.0)
    assert standing_nack(state, session.snapshot) is None
    assert session.in_sync()


@BOTH
@pytest.mark.parametrize("text", [CONSTRAINT, "Error adding/updating cluster(s) bad: it is bad", "no"])
def test_a_refusal_that_is_over_is_not_told_again_while_something_else_is_on_its_way(
    variant: Variant, text: str
) -> None:
    started = clusters(good="1")
    session, sent = opened(variant, started)
    session.receive(ack(variant, CLUSTER, sent.nonce), 0.0)
    (sent,) = session.publish(snapshot(2, evolve(started, bad="1")), 1.0)
    assert session.receive(nack(variant, sent, text), 1.0) == []
    assert session.publish(snapshot(3, started.evolve({})), 2.0) == [], "the node has all of this already"
    state = session.states[CLUSTER]
    assert standing_nack(state, session.snapshot) is None
    assert session.publish(snapshot(4, evolve(started, other="1")), 3.0)
    assert standing_nack(state, session.snapshot) is None, "a status would say that the node refuses this version"


@BOTH
def test_long_words_are_cut_for_keeping_but_read_as_a_whole(variant: Variant) -> None:
    session, sent = opened(variant, clusters(good="1", bad="1"))
    text = f"Error adding/updating cluster(s) {'x' * 100_000}: why, bad: it is bad"
    session.receive(nack(variant, sent, text), 1.0)
    nacked = session.states[CLUSTER].last_nacked
    assert nacked is not None
    assert {name for name, _ in nacked.refused} == {"bad"}
    assert len(nacked.error.message) < 5000
    assert session.answers[0].error == nacked.error


@BOTH
def test_after_a_refusal_nothing_is_only_taken_away_until_the_next_snapshot(variant: Variant) -> None:
    talk = Talk(variant, cds="bad=1 b=1")
    talk.ask("cds")
    talk.settle()
    talk.declare(cds="bad=2")
    assert talk.nack("cds", CONSTRAINT) == [], "the client has applied nothing, so it has b still"
    assert talk.wait(100) == []
    assert talk.declare(cds="bad=2", eds="a=1") == ["cds bad=1" if variant is Variant.SOTW else "cds -b"]
