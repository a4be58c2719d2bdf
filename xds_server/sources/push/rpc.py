"""The gRPC shell of the push source: calls into the desk's words, its answers and refusals into messages and statuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
import grpc.aio

from xds_server.credentials.tokens import TokenSet, bearer
from xds_server.credentials.watched import Watched
from xds_server.sources.push.desk import PushSource
from xds_server.sources.push.model import (
    BaseError,
    ConflictError,
    InvalidError,
    LimitError,
    NoSetError,
    Outcome,
    Place,
    PushError,
    Said,
)
from xds_server.wire.gen.tidegate.push.v1 import push_pb2 as pb
from xds_server.wire.push import PUSH_SERVICE, bad_request, duration, seconds_of, status, timestamp
from xds_server.wire.types import key_of

Context = grpc.aio.ServicerContext[Any, Any]


class PushService:
    """Serves owners over gRPC. Who may push is asked here, for every call, and is the right to write of the admin API."""

    name = PUSH_SERVICE

    def __init__(self, source: PushSource, operator: Watched[TokenSet] | None) -> None:
        """Take calls with one of the operator's tokens; None: of this machine."""
        self._source = source
        self._operator = operator

    def handler(self) -> grpc.GenericRpcHandler:
        """What a server is given."""
        methods = {
            "Put": self._method(pb.PutRequest, self._put),
            "Patch": self._method(pb.PatchRequest, self._patch),
            "Delete": self._method(pb.DeleteRequest, self._delete),
            "Get": self._method(pb.GetRequest, self._get),
        }
        return grpc.method_handlers_generic_handler(self.name, methods)

    def _method(self, request: Any, ask: Callable[[Any, str], Awaitable[Outcome]]) -> Any:
        async def handle(asked: Any, context: Context) -> pb.PushedSet:
            actor = await self._writer(context)
            try:
                return _shown(await ask(asked, actor))
            except PushError as error:
                await _refuse(error, context)

        return grpc.unary_unary_rpc_method_handler(handle, request.FromString, pb.PushedSet.SerializeToString)

    async def _put(self, asked: pb.PutRequest, actor: str) -> Outcome:
        return await self._source.put(_place(asked), _said(asked), actor)

    async def _patch(self, asked: pb.PatchRequest, actor: str) -> Outcome:
        removed = [(each.type, each.name) for each in asked.remove]
        said = _said(asked, removed, asked.base if asked.HasField("base") else None)
        return await self._source.patch(_place(asked), said, actor)

    async def _delete(self, asked: pb.DeleteRequest, actor: str) -> Outcome:
        return await self._source.delete(_place(asked), actor)

    async def _get(self, asked: pb.GetRequest, _actor: str) -> Outcome:
        return await self._source.get(_place(asked))

    async def _writer(self, context: Context) -> str:
        """Who calls, for the audit log; ends the call of who may not write."""
        if self._operator is None:
            address = _address(context.peer())
            if not _is_here(address):
                text = "changes are taken from this machine only (loopback) unless admin.tokens.operator is set"
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, text)
            return address
        headers = [value for key, value in context.invocation_metadata() or () if key == "authorization"]
        token = bearer(headers[0]) if len(headers) == 1 and isinstance(headers[0], str) else ""
        if not self._operator.value.holds(token):
            text = "this needs an operator's token in the metadata `authorization`: Bearer TOKEN"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, text)
        return "operator"


def _place(asked: Any) -> Place:
    return Place(asked.owner, asked.group)


def _said(
    asked: pb.PutRequest | pb.PatchRequest, removed: list[tuple[str, str]] | None = None, base: str | None = None
) -> Said:
    resources = [(each.type_url, each.value) for each in asked.resources]
    return Said(asked.version, resources, removed or [], seconds_of(asked), base)


def _shown(outcome: Outcome) -> pb.PushedSet:
    changed = outcome.changed
    made = pb.PushedSet(owner=changed.place.owner, group=changed.place.group, changed=changed.is_new)
    made.counts.update({key_of(url): count for url, count in outcome.counts.items()})
    made.problems.extend(pb.Problem(reason=each.reason, message=each.message) for each in outcome.problems)
    if changed.pushed is not None:
        made.version = changed.pushed.version
    if outcome.lease is not None:
        made.lease.CopyFrom(duration(outcome.lease))
    if outcome.expires is not None:
        made.expires.CopyFrom(timestamp(outcome.expires))
    if outcome.snapshot is not None:
        made.snapshot.CopyFrom(pb.Snapshot(version=outcome.snapshot[0], seq=outcome.snapshot[1]))
    if outcome.stored is not None:
        made.stored = outcome.stored
    return made


async def _refuse(error: PushError, context: Context) -> NoReturn:
    code, detail = _told(error)
    text = str(error)
    number: int = code.value[0]
    await context.abort(code, text, (("grpc-status-details-bin", status(number, text, detail)),))


def _told(error: PushError) -> tuple[grpc.StatusCode, Any]:
    match error:
        case InvalidError():
            violations = bad_request((each.field, each.message) for each in error.problems)
            return grpc.StatusCode.INVALID_ARGUMENT, violations
        case ConflictError():
            conflicts = [
                pb.Conflict(type=key_of(each.name[0]), name=each.name[1], holder=each.holder)
                for each in error.conflicts
            ]
            return grpc.StatusCode.ALREADY_EXISTS, pb.Conflicts(conflicts=conflicts)
        case BaseError():
            return grpc.StatusCode.FAILED_PRECONDITION, pb.Current(version=error.current)
        case LimitError():
            return grpc.StatusCode.RESOURCE_EXHAUSTED, None
        case NoSetError():
            return grpc.StatusCode.NOT_FOUND, None
        case _:
            raise error


def _address(peer: str) -> str:
    """The address in gRPC's name of a peer: `ipv4:127.0.0.1:5000`, `ipv6:[::1]:5000`."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")


def _is_here(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)
