"""Which certificate is served, and which authorities are trusted, while one follows the other. Pure but for new keys.

A new pair is made long before the old one ends, and waits until everybody trusts its authority; then all serve it; then the
old authority goes. Each step is told by the age of certificates, so replicas that read the same take the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from k8s_source.kinds.pem import belong_together, certificate_error, key_error
from k8s_source.webhooks.authority import BACKDATED, Pair, issue

_MOST_TRUSTED = 4
"""Authorities that are kept when a pair has to be replaced at once."""

CERTIFICATE, KEY, TRUSTED = "tls.crt", "tls.key", "ca.crt"
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"


@dataclass(frozen=True, slots=True)
class Terms:
    """How long certificates last, and how long it takes until a step is known to all replicas and API servers."""

    names: tuple[str, ...]
    life: timedelta
    settle: timedelta

    @property
    def renewed_at(self) -> timedelta:
        """The age at which a pair gets a successor."""
        return self.life * 2 / 3


@dataclass(frozen=True, slots=True)
class Kept:
    """The pair that is served, the one that follows, and the authorities that are trusted, newest first."""

    current: Pair
    coming: Pair | None
    trusted: tuple[bytes, ...]

    @property
    def bundle(self) -> bytes:
        """All that is trusted, as one PEM."""
        return b"".join(self.trusted)

    def data(self) -> dict[str, bytes]:
        """As a Secret keeps it."""
        kept = {CERTIFICATE: self.current.certificate, KEY: self.current.key, TRUSTED: self.bundle}
        if self.coming is not None:
            kept |= {NEXT_CERTIFICATE: self.coming.certificate, NEXT_KEY: self.coming.key}
        return kept


def read(data: Mapping[str, bytes]) -> Kept | None:
    """What a Secret keeps; None where it is nothing that could be served."""
    current = _pair(data, CERTIFICATE, KEY)
    try:
        found = x509.load_pem_x509_certificates(data.get(TRUSTED, b""))
    except ValueError:
        return None
    if current is None:
        return None
    trusted = tuple(each.public_bytes(Encoding.PEM) for each in found)
    return Kept(current, _pair(data, NEXT_CERTIFICATE, NEXT_KEY), trusted)


def step(kept: Kept | None, terms: Terms, now: datetime) -> Kept:
    """What is to be kept next: the same where nothing is due, else one step further."""
    if kept is None or not _serves(kept.current, kept.trusted, terms, now):
        # Nothing good is lost by a leap: nobody could be served as it is.
        fresh = issue(terms.names, now, terms.life)
        old = tuple(each for each in (kept.trusted if kept else ()) if _load(each).not_valid_after_utc > now)
        return Kept(fresh.pair, None, (fresh.authority, *old[: _MOST_TRUSTED - 1]))
    coming = kept.coming
    if coming is not None and not _serves(coming, kept.trusted, terms, now):
        coming = None
    if coming is not None:
        is_known = _age(coming, now) >= terms.settle
        return Kept(coming, None, kept.trusted) if is_known else kept
    if _age(kept.current, now) >= terms.renewed_at:
        fresh = issue(terms.names, now, terms.life)
        return Kept(kept.current, fresh.pair, (fresh.authority, *kept.trusted))
    if len(kept.trusted) > 1 and _age(kept.current, now) >= 2 * terms.settle:
        own = tuple(each for each in kept.trusted if _is_issued(kept.current, each))
        return replace(kept, trusted=own[:1], coming=None)
    return replace(kept, coming=None) if kept.coming is not None else kept


def _serves(pair: Pair, trusted: tuple[bytes, ...], terms: Terms, now: datetime) -> bool:
    """Whether a pair is valid now, for all names, and trusted."""
    found = _load(pair.certificate)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = {str(each.value) for each in names}
    if not (found.not_valid_before_utc <= now < found.not_valid_after_utc and known >= set(terms.names)):
        return False
    return any(_is_issued(pair, each) and _load(each).not_valid_after_utc > now for each in trusted)


def _is_issued(pair: Pair, authority: bytes) -> bool:
    try:
        _load(pair.certificate).verify_directly_issued_by(_load(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _age(pair: Pair, now: datetime) -> timedelta:
    return now - _load(pair.certificate).not_valid_before_utc - BACKDATED


def _load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificates(pem)[0]


def _pair(data: Mapping[str, bytes], certificate: str, key: str) -> Pair | None:
    """A pair of a Secret, if it is one of ours: with names, and with its key."""
    found = Pair(data.get(certificate, b""), data.get(key, b""))
    if certificate_error(found.certificate) or key_error(found.key):
        return None
    try:
        _load(found.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return None
    return found if belong_together(found.certificate, found.key) else None
