"""Contents of which only the version is known: who has them is in sync, nobody is sent them, nobody loses them."""

from __future__ import annotations

from tests.unit.stream.test_shared_steps import BOTH, ack, first, snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import DeltaRequest, SotwRequest
from xds_server.wire.resource import Held, Resource
from xds_server.wire.types import CLUSTER, SECRET

KNOWN, SECRETIVE = Resource("known", CLUSTER, b"1"), Resource("key-inside", CLUSTER, b"2")
UNKNOWN = Held("key-inside", CLUSTER, SECRETIVE.version)


def restored(*more: Resource) -> Typeset:
    return Typeset(CLUSTER, {each.name: each for each in (KNOWN, UNKNOWN, *more)})


def claim(variant: Variant, typeset: Typeset) -> SotwRequest | DeltaRequest:
    """The first request of a client that has all of these."""
    if variant is Variant.SOTW:
        return SotwRequest(CLUSTER, version_info=typeset.version)
    return DeltaRequest(CLUSTER, initial_versions={each.name: each.version for each in typeset})


@BOTH
def test_who_claims_the_version_is_sent_nothing_before_and_after_the_source_speaks(variant: Variant) -> None:
    before = restored()
    session = Session(variant)
    session.publish(snapshot(1, before), 0.0)
    sent = session.receive(claim(variant, before), 0.0)
    assert all(not each.changes for each in sent)
    for each in sent:
        session.receive(ack(variant, CLUSTER, each.nonce), 0.0)
    assert session.in_sync()
    assert session.publish(snapshot(1, before.evolve({"key-inside": SECRETIVE})), 1.0) == []
    assert session.in_sync()


@BOTH
def test_who_comes_new_gets_the_rest_and_then_what_the_source_brings(variant: Variant) -> None:
    before = restored()
    session = Session(variant)
    session.publish(snapshot(1, before), 0.0)
    (sent,) = session.receive(first(variant, CLUSTER), 0.0)
    assert sent.changes == {"known": KNOWN.version}
    assert b"key-inside" not in sent.message
    assert session.receive(ack(variant, CLUSTER, sent.nonce), 0.0) == []
    assert not session.in_sync()
    (sent,) = session.publish(snapshot(1, before.evolve({"key-inside": SECRETIVE})), 1.0)
    assert sent.changes == {"key-inside": SECRETIVE.version}


@BOTH
def test_another_version_that_a_client_has_stays_with_it(variant: Variant) -> None:
    """The claim is of something that this process has never heard of: nothing may be taken away for want of bytes."""
    before = restored()
    older = Typeset(CLUSTER, {"key-inside": Held("key-inside", CLUSTER, "0" * 32), "known": KNOWN})
    session = Session(variant)
    session.publish(snapshot(1, before), 0.0)
    for sent in session.receive(claim(variant, older), 0.0):
        assert not sent.changes, "nothing for a SotW client, nothing of it for a delta client"
        session.receive(ack(variant, CLUSTER, sent.nonce), 0.0)
    (sent,) = session.publish(snapshot(2, before.evolve({"key-inside": SECRETIVE})), 1.0)
    assert sent.changes["key-inside"] == SECRETIVE.version


def test_a_sotw_answer_that_would_have_to_hold_it_waits() -> None:
    """In an answer for clusters, absence means deletion."""
    before = restored()
    session = Session(Variant.SOTW)
    session.publish(snapshot(1, before), 0.0)
    assert session.receive(claim(Variant.SOTW, before), 0.0) == []
    more = before.evolve({"more": Resource("more", CLUSTER, b"3")})
    assert session.publish(snapshot(2, more), 1.0) == []
    (sent,) = session.publish(snapshot(3, more.evolve({"key-inside": SECRETIVE})), 2.0)
    assert sent.changes == {"more": more.version_of("more")}
    assert all(each.sotw_field in sent.message for each in (KNOWN, SECRETIVE))


@BOTH
def test_a_secret_that_is_asked_for_by_name_comes_when_it_is_known(variant: Variant) -> None:
    secret = Resource("cert", SECRET, b"key")
    before = Typeset(SECRET, {"cert": Held("cert", SECRET, secret.version)})
    session = Session(variant)
    session.publish(snapshot(1, before), 0.0)
    assert session.receive(first(variant, SECRET, "cert"), 0.0) == []
    (sent,) = session.publish(snapshot(1, before.evolve({"cert": secret})), 1.0)
    assert sent.changes == {"cert": secret.version}
