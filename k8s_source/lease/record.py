"""What a Lease says, and the bytes of the object that says it. Pure.

Fields: API reference, `LeaseSpec` (coordination.k8s.io/v1).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from k8s_source.client.resource import LEASES


@dataclass(frozen=True, slots=True)
class Record:
    """A Lease's spec. `holder` is "" when nobody has it; `duration` is in seconds, as whoever holds it wrote it.

    `acquired` and `renewed` are times by the holder's wall clock, for people: nothing is decided by them.
    """

    holder: str
    duration: int
    acquired: str
    renewed: str
    transitions: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as the API server had it; `metadata` goes back unread, and has the resourceVersion that was seen."""

    record: Record
    metadata: bytes


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw
    spec: _Spec | None = None


_LEASE = msgspec.json.Decoder(_Lease)


def decode(body: bytes) -> Seen:
    """What a Lease says. Raises msgspec.DecodeError."""
    lease = _LEASE.decode(body)
    spec = lease.spec or _Spec()
    record = Record(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time or "",
        spec.renew_time or "",
        spec.lease_transitions or 0,
    )
    return Seen(record, bytes(lease.metadata))


def encode(record: Record, metadata: bytes) -> bytes:
    """The object that says this."""
    spec = _Spec(record.holder, record.duration, record.acquired, record.renewed, record.transitions)
    body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": msgspec.Raw(metadata), "spec": spec}
    return msgspec.json.encode(body)
