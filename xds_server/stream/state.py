"""What one stream knows of one type: asked for, sent, accepted, refused. Data and its small transitions only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xds_server.snapshot.typeset import Typeset
from xds_server.stream.subscription import NOTHING, Subscription
from xds_server.wire.request import ErrorDetail
from xds_server.wire.response import Response

_ENVOY_NAMES_CULPRITS = re.compile(r"Error adding/updating (cluster|listener)\(s\) ")
"""How Envoy begins a NACK that names each refused resource, the others of the response being accepted
(source/common/upstream/cds_api_helper.cc and source/common/listener_manager/lds_api.cc)."""

_REFUSALS_KEPT = 256

Refusal = frozenset[tuple[str, str | None]]
"""Contents that were refused together: (name, version), version None for a removal."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A response that waits for its ACK or NACK; `after` is what the client has once it accepts."""

    response: Response
    after: Typeset
    sent_at: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A version and when (POSIX seconds) something was done with it; `nonce` of the response concerned."""

    version: str
    nonce: str
    at: float


@dataclass(frozen=True, slots=True)
class Nack:
    """A refusal: which response, when, in which words, and the contents that may have caused it."""

    mark: Mark
    error: ErrorDetail
    refused: Refusal


class TypeState:
    """The state of one type on one stream.

    `held` is what the client has once it has accepted all that was sent, `acked` what it has accepted;
    both hold only as far as the subscription reaches. `resend` are names to be sent whatever is held, `blocked`
    the contents (name, version) that wait for clusters, each with the time since when. `presumed` is the nonce
    of a response whose answer is no longer waited for.
    """

    __slots__ = (
        "acked",
        "answered",
        "blocked",
        "frozen",
        "held",
        "last_acked",
        "last_nacked",
        "last_sent",
        "named",
        "pending",
        "presumed",
        "refusals",
        "resend",
        "serial",
        "sub",
        "timeouts",
        "type_url",
        "waits_for",
        "waits_since",
    )

    def __init__(self, type_url: str, base: Typeset) -> None:
        self.type_url = type_url
        self.sub: Subscription = NOTHING
        self.named = False
        self.held = base
        self.acked = base
        self.resend: frozenset[str] = frozenset()
        self.answered = False
        self.pending: list[Pending] = []
        self.refusals: list[Refusal] = []
        self.frozen: Typeset | None = None
        self.blocked: dict[tuple[str, str], float] = {}
        self.waits_for: str | None = None
        self.waits_since = 0.0
        self.serial = 0
        self.timeouts = 0
        self.presumed = ""
        self.last_sent: Mark | None = None
        self.last_acked: Mark | None = None
        self.last_nacked: Nack | None = None

    def possible(self) -> Iterable[Typeset]:
        """Every typeset that the client may be acting on: the accepted one and those on their way."""
        yield self.acked
        for pending in self.pending:
            yield pending.after

    def find_pending(self, nonce: str) -> Pending | None:
        """The unanswered response of that nonce, None when the nonce is stale or unknown."""
        for pending in self.pending:
            if pending.response.nonce == nonce:
                return pending
        return None

    def sent(self, response: Response, after: Typeset, now: float) -> None:
        """Note that a response went out."""
        self.pending.append(Pending(response, after, now))
        self.held = after
        self.answered = True
        self.resend = frozenset()
        self.serial = response.serial
        self.last_sent = Mark(response.version, response.nonce, now)

    def settle(self, typeset: Typeset) -> None:
        """Note that the client needs nothing to be at `typeset`, as far as it has asked."""
        self.held = self.acked = typeset
        self.resend = frozenset()

    def forget_unless(self, names: frozenset[str]) -> None:
        """Note that the client has nothing but `names` of what is held: it asks for everything from now on."""
        self.held = self.held.overlay(dict.fromkeys(self.held.resources.keys() - names))
        self.answered = False

    def ack(self, pending: Pending, now: float) -> None:
        """Note that the client accepted a response, and with it everything sent before."""
        self.acked = pending.after
        del self.pending[: self.pending.index(pending) + 1]
        self.last_acked = Mark(pending.response.version, pending.response.nonce, now)

    def nack(self, pending: Pending, error: ErrorDetail, source: Typeset, now: float) -> None:
        """Note that the client refused a response; `source` is the group's typeset at this moment.

        Envoy names the culprits among clusters and listeners, and applies the others; else all that was new
        in the response is under suspicion together.
        """
        response = pending.response
        culprits = _culprits(error.message, response.changes)
        refused: Refusal = frozenset((name, response.changes[name]) for name in culprits)
        accepted = {name: pending.after.get(name) for name in response.changes if name not in culprits}
        self.acked = self.acked.overlay(accepted)
        position = self.pending.index(pending)
        del self.pending[: position + 1]
        self._replay()
        if refused:
            self.refusals = [*self.refusals[-_REFUSALS_KEPT:], refused]
        self.frozen = source
        self.last_nacked = Nack(Mark(response.version, response.nonce, now), error, refused)

    def _replay(self) -> None:
        """Work out anew what the client has after the responses that are still on their way."""
        self.held = self.acked
        for index, later in enumerate(self.pending):
            changes = {name: later.after.get(name) for name in later.response.changes}
            self.held = self.held.overlay(changes)
            self.pending[index] = Pending(later.response, self.held, later.sent_at)

    def refused_in(self, source: Typeset) -> dict[str, str | None]:
        """The names whose content in `source` this client has refused, each with that version."""
        found: dict[str, str | None] = {}
        for refusal in self.refusals:
            if all(source.version_of(name) == version for name, version in refusal):
                found.update(refusal)
        return found


def _culprits(message: str, changes: Mapping[str, str | None]) -> frozenset[str]:
    if _ENVOY_NAMES_CULPRITS.match(message):
        named = frozenset(name for name in changes if re.search(rf"[\s,]{re.escape(name)}: ", message))
        if named:
            return named
    return frozenset(changes)
