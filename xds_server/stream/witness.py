"""The witness of one stream: tells the tracker, the meter and the group what the client has answered, and what that means."""

from __future__ import annotations

from xds_server.snapshot.groups import Group
from xds_server.status.culprit import origins_of
from xds_server.status.node import LiveNode
from xds_server.stream.context import StreamContext, Traces
from xds_server.stream.session import Answer, Session
from xds_server.wire.types import key_of


class Witness:
    """Hears of a session each time that something has happened on it."""

    __slots__ = (
        "_completed",
        "_group",
        "_node",
        "_refused",
        "_shared",
        "_types",
    )

    def __init__(self, shared: StreamContext, group: Group, node: LiveNode) -> None:
        self._shared = shared
        self._group = group
        self._node = node
        self._completed = 0
        self._refused = 0
        self._types = 0

    def hear(self, session: Session) -> None:
        """Take what the session has to tell, and pass it on."""
        if self._types != len(session.states):
            self._take_claims(session)
        if session.answers:
            answers, session.answers = session.answers, []
            for answer in answers:
                self._tell(answer, session)
        snapshot = session.snapshot
        if snapshot is not None and self._completed != snapshot.seq and session.in_sync():
            self._completed = snapshot.seq
            self._shared.tracker.completed(self._node)
        if snapshot is not None and snapshot.whole is not None:
            self._group.tell_again(self._group.views.settle(self._node, session.settled()))
        while session.overdue:
            self._shared.meter.sequencer_timeout(key_of(session.overdue.pop()))

    def _take_claims(self, session: Session) -> None:
        """What a client claims and need not be sent again counts as accepted: it never accepts it on this stream."""
        for state in list(session.states.values())[self._types :]:
            if not state.guessed:
                names = None if state.sub.wildcard else state.sub.names
                self._group.tell_again(self._group.views.claim(state.acked, names))
        self._types = len(session.states)

    def _tell(self, answer: Answer, session: Session) -> None:
        response, views = answer.response, self._group.views
        key = key_of(response.type_url)
        if self._shared.traces is not None:
            self._trace(self._shared.traces, answer)
        if answer.error is None:
            self._shared.meter.acked(key, answer.took)
            self._shared.tracker.acked(self._node, key, response.version)
            self._group.tell_again(views.accept(response.serial, response.changes, answer.sent))
            return
        self._shared.meter.nacked(key, self._node.group)
        self._refuse(answer, key, session)
        contents = (answer.has.get(name) for name in response.changes)
        accepted = [each for each in contents if each is not None and each.version == response.changes[each.name]]
        self._group.tell_again(views.accept_some(response.serial, accepted, answer.sent))

    def _trace(self, traces: Traces, answer: Answer) -> None:
        response, node = answer.response, self._node
        refusal = answer.error.message if answer.error else None
        traces.answered(node.group, node.id, response.type_url, response.version, took=answer.took, refusal=refusal)

    def _refuse(self, answer: Answer, key: str, session: Session) -> None:
        response, message = answer.response, answer.error.message if answer.error else ""
        self._group.views.refuse(self._node, self._node.id, answer.suspects, message, answer.has)
        snapshot = session.snapshot
        current = snapshot.typeset(response.type_url) if snapshot is not None else answer.sent
        culprit = origins_of(answer.suspects, current)
        self._shared.tracker.nacked(self._node, key, response.version, message, culprit)
        seq = snapshot.seq if snapshot is not None else 0
        if self._refused != seq:
            self._refused = seq
            self._shared.tracker.refused(self._node)
