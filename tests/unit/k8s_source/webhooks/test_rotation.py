"""Certificates that follow each other: at every moment what is served is trusted by who was told some time ago."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from hypothesis import given, settings, strategies as st

from k8s_source.webhooks.authority import issue
from k8s_source.webhooks.rotation import TRUSTED, Kept, Terms, read, step

START = datetime(2026, 11, 30, tzinfo=UTC)
NAMES = ("webhook.tidegate-system.svc", "10.0.0.1")
TERMS = Terms(NAMES, timedelta(days=90), timedelta(minutes=5))


def is_trusted(kept: Kept, bundle: bytes, at: datetime) -> bool:
    """Whether a client that knows this bundle takes the pair that is served."""
    found = x509.load_pem_x509_certificate(kept.current.certificate)
    authorities = x509.load_pem_x509_certificates(bundle)
    named = [each for each in authorities if each.subject == found.issuer]
    for each in named:
        found.verify_directly_issued_by(each)
    return bool(named) and all(each.not_valid_before_utc <= at < each.not_valid_after_utc for each in (found, *named))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), lag=st.integers(1, 4))
def test_who_was_told_a_while_ago_is_served_with_something_trusted(seed: int, lag: int) -> None:
    """Replicas step at random times; clients know the bundle of up to `lag` minutes ago, replicas serve as late."""
    chance = random.Random(seed)
    history: list[tuple[datetime, Kept]] = []
    now, kept, changes = START, None, 0
    while now < START + timedelta(days=200):
        after = step(kept, TERMS, now)
        assert read(after.data()) == after, "a Secret keeps all of it"
        if after != kept:
            changes += 1
            history.append((now, after))
        kept = after
        known = last_before(history, now - timedelta(minutes=chance.randint(0, lag)))
        serving = last_before(history, now - timedelta(minutes=chance.randint(0, lag)))
        assert is_trusted(serving, known.bundle, now)
        assert len(after.trusted) <= 2
        near = kept.coming is not None or len(kept.trusted) > 1
        now += timedelta(seconds=chance.randint(5, 60)) if near else timedelta(hours=chance.randint(1, 24))
    assert changes == 1 + 3 * 3, "first, then thrice: made, served, the old one gone"


def last_before(history: list[tuple[datetime, Kept]], at: datetime) -> Kept:
    return next((kept for told, kept in reversed(history) if told <= at), history[0][1])


def test_nothing_is_due() -> None:
    kept = step(None, TERMS, START)
    for days in (0, 1, 59):
        assert step(kept, TERMS, START + timedelta(days=days)) is kept


def test_a_process_that_slept_through_serves_a_new_one_at_once() -> None:
    old = step(None, TERMS, START)
    late = START + timedelta(days=91)
    kept = step(old, TERMS, late)
    assert is_trusted(kept, kept.bundle, late)
    assert len(kept.trusted) == 1
    half = step(old, TERMS, START + timedelta(days=61))
    assert half.coming is not None
    assert half.current == old.current
    whole = step(half, TERMS, late)
    assert whole.coming is None
    assert is_trusted(whole, whole.bundle, late)


def test_other_names_make_a_new_pair_and_the_old_one_stays_trusted() -> None:
    old = step(None, TERMS, START)
    moved = step(old, Terms(("10.0.0.2",), TERMS.life, TERMS.settle), START)
    assert moved.current != old.current
    assert moved.trusted[1:] == old.trusted


@pytest.mark.parametrize("key", ["tls.crt", "tls.key", "ca.crt"])
@pytest.mark.parametrize("value", [None, b"", b"x", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_damaged_is_made_anew(key: str, value: bytes | None) -> None:
    data = step(None, TERMS, START).data()
    data.pop(key)
    if value is not None:
        data[key] = value
    found = read(data)
    assert found is None or key == TRUSTED
    kept = step(found, TERMS, START)
    assert is_trusted(kept, kept.bundle, START)


def test_a_pair_of_someone_else_is_not_served() -> None:
    stranger = issue(NAMES, START, TERMS.life)
    kept = Kept(stranger.pair, None, step(None, TERMS, START).trusted)
    assert step(kept, TERMS, START).current != stranger.pair
    waiting = Kept(step(None, TERMS, START).current, stranger.pair, ())
    assert step(waiting, TERMS, START).coming is None


def test_nothing_of_a_key_is_shown() -> None:
    kept = step(None, TERMS, START)
    assert "PRIVATE" not in repr(kept)
