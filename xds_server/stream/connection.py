"""A connection: one stream's session bound to its transport. Moves bytes, keeps time, tells the tracker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from xds_server.snapshot.snapshot import Snapshot
from xds_server.status.config import TypeView
from xds_server.status.node import NodeReport
from xds_server.stream.admission import admit
from xds_server.stream.auth import Identity
from xds_server.stream.context import StreamContext
from xds_server.stream.pace import Pace
from xds_server.stream.report import report_types, standing_nack, type_views
from xds_server.stream.session import Session, Variant
from xds_server.stream.witness import Witness
from xds_server.wire.csds import Client
from xds_server.wire.node import NodeInfo, node_id, parse_node
from xds_server.wire.request import DeltaRequest, Request, RequestError, SotwRequest
from xds_server.wire.response import Response
from xds_server.wire.types import key_of

Write = Callable[[bytes], Awaitable[None]]
Fail = Callable[[Exception], None]

_MAX_TYPES = 100
"""Types on one stream. Envoy knows a dozen, and each one costs a look at every event."""

_MAX_QUEUED = 256
"""Responses that wait for a slow peer before its requests wait, too."""


class LimitError(ValueError):
    """A request asks for more than the server's limits allow."""


class Connection:
    """One stream. `LiveNode` to the tracker; `write` takes a whole message and waits while the peer is slow.

    `fail` is told what goes wrong outside of `receive`, so that it ends this stream and touches no other.
    """

    __slots__ = (
        "_caller",
        "_fail",
        "_only_type",
        "_outbox",
        "_pace",
        "_peer",
        "_session",
        "_shared",
        "_since",
        "_timer",
        "_variant",
        "_witness",
        "_write",
        "_writer",
        "node",
    )

    def __init__(
        self,
        shared: StreamContext,
        variant: Variant,
        write: Write,
        fail: Fail,
        *,
        peer: str,
        only_type: str | None,
        caller: Identity,
    ) -> None:
        """Bind a stream of `caller` at `peer`; with `only_type` it is a stream of the service of that type."""
        self.node: NodeInfo | None = None
        self._shared = shared
        self._variant = variant
        self._write = write
        self._fail = fail
        self._peer = peer
        self._only_type = only_type
        self._caller = caller
        self._pace = Pace(shared.limits.max_request_rate, _now())
        self._session: Session | None = None
        self._outbox: list[Response] = []
        self._writer: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._since = time.time()
        self._witness: Witness | None = None

    @property
    def id(self) -> str:
        """The node's id, "" before the first request."""
        return self.node.id if self.node else ""

    @property
    def group(self) -> str:
        """The node's group, "" before the first request."""
        return self.node.group if self.node else ""

    @property
    def protocol(self) -> str:
        """The variant of the protocol, `sotw` or `delta`."""
        return self._variant.value

    @property
    def is_envoy(self) -> bool:
        """See `LiveNode.is_envoy`."""
        return self.node is not None and self.node.is_envoy

    def receive(self, raw: bytes) -> None:
        """Take the bytes of a request in; what is due goes out by itself.

        Raises:
            RequestError: the request is malformed, has no node where it needs one, another node, or another type.
            DeniedError: its node is of a group that the caller may not be given.
            LimitError: it names more resources or types than allowed, or comes too soon after those before it.
        """
        parser = self._shared.parser
        request: Request
        request, node = parser.sotw(raw) if self._variant is Variant.SOTW else parser.delta(raw)
        self._check(request)
        session = self._identify(node, goes_on=_claims(request))
        request = self._typed(request)
        if request.type_url not in session.states and len(session.states) >= _MAX_TYPES:
            msg = f"{_MAX_TYPES} resource types are asked for on this stream; no more are allowed"
            raise LimitError(msg)
        before = session.states.get(request.type_url)
        asked_before = before.sub if before is not None else None
        responses = session.receive(request, _now())
        state = session.states.get(request.type_url)
        if state is not None:
            self._check_names(len(state.sub.names))
        # Answers are as many as the responses; what a client asks by itself must keep to the pace.
        if not (session.answers and state and state.sub is asked_before and not _asks(request)):
            self._check_pace()
        self._send(responses)

    async def room(self) -> None:
        """Wait while too much is queued: who does not read is not listened to either."""
        while self._writer is not None and len(self._outbox) >= _MAX_QUEUED:
            await asyncio.wait((self._writer,))

    async def finish(self, *, flush: bool) -> None:
        """Have no more come, and wait until the message on its way is written (with `flush` all that is queued).

        Before that gRPC can send no status. Who never reads is waited for until the call is cancelled.
        """
        if not flush:
            self._outbox.clear()
        self._leave()
        if self._writer is not None:
            await asyncio.wait((self._writer,))

    def close(self) -> None:
        """End the stream: nothing more is sent, and what it leaves its node with is remembered.

        A write on its way ends by itself with the call: gRPC would lose the memory of one that is cancelled.
        """
        self._outbox.clear()
        self._leave()

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        session = self._session
        if self.node is None or session is None:
            return
        group = self._shared.groups.get(self.node.group)
        if group is not None:
            group.unwatch(self)
        self._shared.departed.remember(self._caller.name, self.node, session.legacy())
        self._shared.tracker.left(self)
        self._session = None

    def in_sync(self) -> bool:
        """See `LiveNode.in_sync`."""
        return self._session is not None and self._session.in_sync()

    def refusing(self) -> bool:
        """See `LiveNode.refusing`."""
        session = self._session
        return session is not None and any(standing_nack(state, session.snapshot) for state in session.states.values())

    def client(self) -> Client:
        """See `LiveNode.client`."""
        node = self.node or NodeInfo("", "", "", "")
        return Client(node.id, node.cluster, node.build, node.metadata)

    def config(self) -> Sequence[TypeView]:
        """See `LiveNode.config`."""
        offset = time.time() - _now()
        return type_views(self._session, lambda at: at + offset) if self._session else ()

    def report(self) -> NodeReport:
        """See `LiveNode.report`."""
        offset = time.time() - _now()
        types = report_types(self._session, lambda at: at + offset) if self._session else {}
        node = self.node or NodeInfo("", "", "", "")
        return NodeReport(
            id=node.id,
            group=node.group,
            cluster=node.cluster,
            address=self._peer,
            protocol=self.protocol,
            build=node.build,
            connected=True,
            since=self._since,
            types=types,
            identity=self._caller.name,
        )

    def _check(self, request: Request) -> None:
        if self._only_type is None and not request.type_url:
            msg = "type_url is empty: on an aggregated stream it tells what is asked for"
            raise RequestError(msg)
        if self._only_type is not None and request.type_url not in ("", self._only_type):
            msg = f"type_url is {request.type_url}, but this service serves {self._only_type}"
            raise RequestError(msg)
        self._check_names(len(request.names) if isinstance(request, SotwRequest) else len(request.subscribe))

    def _check_names(self, names: int) -> None:
        allowed = self._shared.limits.max_names
        if names > allowed:
            msg = f"{names} resources of one type are asked for by name; {allowed} are allowed (xds.max_names)"
            raise LimitError(msg)

    def _check_pace(self) -> None:
        if not self._pace.take(_now()):
            msg = f"more than {self._shared.limits.max_request_rate} requests a second (xds.max_request_rate)"
            raise LimitError(msg)

    def _typed(self, request: Request) -> Request:
        return request if request.type_url else replace(request, type_url=self._only_type or "")

    def _identify(self, raw: bytes, *, goes_on: bool) -> Session:
        """Learn from the first request who the node is; later ones may repeat it, but not be another."""
        if self._session is not None and self.node is not None:
            if raw and node_id(raw) != self.node.id:
                other = parse_node(raw, self._shared.grouping)
                if other.id != self.node.id:
                    msg = f"this stream is of node {self.node.id!r}; a request on it names node {other.id!r}"
                    raise RequestError(msg)
            return self._session
        if not raw:
            msg = "the first request of a stream must have a node with an id"
            raise RequestError(msg)
        self.node = node = admit(raw, self._shared.grouping, self._caller)
        group = self._shared.groups.obtain(node.group)
        before = self._shared.departed.recall(self._caller.name, node)
        session = Session(self._variant, waits=self._shared.waits, before=before, lookup=group.typeset)
        self._session = session
        self._witness = Witness(self._shared, group, self)
        group.watch(self, self._publish, goes_on=goes_on)
        self._shared.tracker.joined(self)
        offered = group.views.of(self)
        if offered is not None:
            session.publish(offered, _now())
        return session

    def _publish(self, snapshot: Snapshot) -> None:
        self._go_on(lambda session: session.publish(snapshot, _now()))

    def _tick(self) -> None:
        self._timer = None
        self._go_on(lambda session: session.tick(_now()))

    def _go_on(self, step: Callable[[Session], list[Response]]) -> None:
        try:
            if self._session is not None:
                self._send(step(self._session))
        except Exception as error:  # noqa: BLE001 - the caller is not of this stream; neither it nor others may notice
            self._fail(error)

    def _send(self, responses: list[Response]) -> None:
        session = self._session
        if session is None:
            return
        if self._witness is not None:
            self._witness.hear(session)
        self._set_timer(session)
        if responses:
            self._outbox.extend(responses)
            if self._writer is None:
                self._writer = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        """Write until nothing is left. A slow peer stops here; it has at most a response per type queued."""
        try:
            while self._outbox:
                response = self._outbox.pop(0)
                self._shared.meter.pushed(key_of(response.type_url), len(response.message))
                await self._write(response.message)
        except Exception as error:  # noqa: BLE001 - a task's boundary: a response that is lost ends the stream
            self._fail(error)
        finally:
            self._writer = None

    def _set_timer(self, session: Session) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if session.deadline is not None:
            delay = max(session.deadline - _now(), 0.0) + 0.001
            self._timer = asyncio.get_running_loop().call_later(delay, self._tick)


def _claims(request: Request) -> bool:
    """Whether a stream's first request tells that the client has something from before."""
    return bool(request.version_info if isinstance(request, SotwRequest) else request.initial_versions)


def _asks(request: Request) -> bool:
    """Whether a request asks for something by itself: a name that is subscribed again is sent again (delta)."""
    return isinstance(request, DeltaRequest) and bool(request.subscribe or request.unsubscribe)


def _now() -> float:
    return time.monotonic()
