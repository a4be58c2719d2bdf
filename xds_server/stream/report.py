"""What the admin API shows of a session: its states as reports, steady times as POSIX times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.status.config import OnItsWay, Said, TypeView
from xds_server.status.culprit import origins_of
from xds_server.status.node import Accepted, Refused, Sent, TypeReport
from xds_server.stream.session import Session
from xds_server.stream.sotw import without_doubts
from xds_server.stream.state import Nack, TypeState
from xds_server.wire.types import key_of

Wall = Callable[[float], float]
"""Steady seconds → POSIX seconds."""


def report_types(session: Session, wall: Wall) -> Mapping[str, TypeReport]:
    """A report on each type that the client has asked for, by short key or type URL."""
    return {key_of(url): _report(state, session.snapshot, wall) for url, state in session.states.items()}


def type_views(session: Session, wall: Wall) -> list[TypeView]:
    """What a session knows of each type, as values that do not change."""
    snapshot = session.snapshot
    if snapshot is None:
        return []
    return [_view(state, (snapshot.whole or snapshot).typeset(url), wall) for url, state in session.states.items()]


def _view(state: TypeState, wanted: Typeset, wall: Wall) -> TypeView:
    nack, acked = state.last_nacked, state.last_acked
    return TypeView(
        type_url=state.type_url,
        covers=state.sub.covers,
        wildcard=state.sub.wildcard,
        names=state.sub.names,
        wanted=wanted,
        accepted=without_doubts(state.acked),
        pending=tuple(OnItsWay(each.response.changes) for each in state.pending),
        refused=state.refused_in(wanted),
        said=Said(nack.error.message, wall(nack.mark.at)) if nack else None,
        updated=wall(acked.at) if acked else None,
    )


def standing_nack(state: TypeState, snapshot: Snapshot | None) -> Nack | None:
    """The last refusal, until what was refused is no longer what the snapshot has and the client has all of that."""
    if state.last_nacked is None or snapshot is None:
        return None
    source = snapshot.typeset(state.type_url)
    at = state.last_nacked.mark.at
    is_newer = state.last_acked is not None and state.last_acked.at >= at
    unproven = bool(state.pending) and not is_newer and not state.overcome
    stands = unproven or state.frozen is snapshot or bool(state.refused_in(source))
    return state.last_nacked if stands else None


def _report(state: TypeState, snapshot: Snapshot | None, wall: Wall) -> TypeReport:
    sent, acked, nack = state.last_sent, state.last_acked, standing_nack(state, snapshot)
    return TypeReport(
        wildcard=state.sub.wildcard,
        names=len(state.sub.names),
        sent=Sent(sent.version, sent.nonce, wall(sent.at)) if sent else None,
        acked=Accepted(acked.version, wall(acked.at)) if acked else None,
        nacked=_refused(nack, state, snapshot, wall) if nack and snapshot else None,
        pending=bool(state.pending),
        waits_for=state.waits_for,
        waits_since=wall(state.waits_since),
        timeouts=state.timeouts,
    )


def _refused(nack: Nack, state: TypeState, snapshot: Snapshot, wall: Wall) -> Refused:
    mark, error = nack.mark, nack.error
    culprit = origins_of(nack.suspects, snapshot.typeset(state.type_url))
    return Refused(mark.version, mark.nonce, wall(mark.at), error.code, error.message, culprit)
