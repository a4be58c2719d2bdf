"""The messages of the push service (`proto/tidegate/push/v1/push.proto`): requests from bytes, answers, error details."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import BadRequest
from google.rpc.status_pb2 import Status

from xds_server.wire.gen.tidegate.push.v1 import push_pb2 as pb

PUSH_SERVICE = "tidegate.push.v1.PushService"
"""The service's full name."""

_NANO = 1_000_000_000


def seconds_of(request: pb.PutRequest | pb.PatchRequest) -> float | None:
    """The lease that a request asks for; None where it does not say."""
    return request.lease.seconds + request.lease.nanos / _NANO if request.HasField("lease") else None


def duration(seconds: float) -> Duration:
    """Seconds as a message."""
    nanos = round(seconds * _NANO)
    return Duration(seconds=nanos // _NANO, nanos=nanos % _NANO)


def timestamp(seconds: float) -> Timestamp:
    """POSIX seconds as a message."""
    nanos = round(seconds * _NANO)
    return Timestamp(seconds=nanos // _NANO, nanos=nanos % _NANO)


def bad_request(violations: Iterable[tuple[str, str]]) -> BadRequest:
    """Details of (field, what is wrong)."""
    made = BadRequest()
    for field, description in violations:
        made.field_violations.add(field=field, description=description)
    return made


def status(code: int, text: str, detail: Message | None) -> bytes:
    """What goes into the trailing metadata `grpc-status-details-bin`."""
    made = Status(code=code, message=text)
    if detail is not None:
        made.details.add().Pack(detail)
    return bytes(made.SerializeToString())
