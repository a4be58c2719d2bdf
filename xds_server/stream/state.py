"""What one stream knows of one type: asked for, sent, accepted, refused. Data and its small transitions only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from xds_server.ir.refs import NO_NAMES, Refs
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.doubt import Doubtful
from xds_server.stream.goal import Step
from xds_server.stream.subscription import NOTHING, Subscription
from xds_server.translate.inline import without_secrets
from xds_server.wire.request import ErrorDetail
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response

_NAMES_CULPRITS = re.compile(r"Error adding/updating (cluster|listener)\(s\) |xDS response validation errors: \[")
"""How clients begin a NACK that names each refused resource as `NAME: reason`, the others of the response being
accepted: Envoy (source/common/upstream/cds_api_helper.cc and source/common/listener_manager/lds_api.cc), and
gRPC's C-core (src/core/xds/xds_client/xds_client.cc, gRFC A46)."""

_WORD = re.compile(r"(?<=[\s,])[^\s,]+(?=: )")
"""A word that may be such a NAME; thousands of them are looked up in one pass over the text."""

_INVALID = "Proto constraint validation failed"
_INVALID_NAME = re.compile(r'^(?:cluster_)?name: "([^"\\]*)"', re.MULTILINE)
"""Envoy checks the constraints of a whole response before it applies any of it, and shows the first resource that breaks
one as text (source/common/protobuf/utility.cc, ProtoExceptionUtil): its name is the one that is not indented."""

_REFUSALS_KEPT = 256

Refusal = frozenset[tuple[str, str | None]]
"""Contents that were refused together: (name, version), version None for a removal."""


class Pending(NamedTuple):
    """A response that waits for its ACK or NACK.

    `before` is what the client should have when it gets it, `after` what it has once it accepts, `releases` the names
    whose content before refers to more than that after, `warms` the assignments for which the clusters in it wait;
    `asked` are the names in it that a request had asked for: it is not sure whether the client had them before.
    """

    response: Response
    before: Typeset
    after: Typeset
    releases: frozenset[str]
    warms: frozenset[str]
    sent_at: float
    asked: frozenset[str] = NO_NAMES


class Mark(NamedTuple):
    """A version and when (POSIX seconds) something was done with it; `nonce` of the response concerned."""

    version: str
    nonce: str
    at: float


@dataclass(frozen=True, slots=True)
class Nack:
    """A refusal: which response, when, in which words, and the contents that may have caused it (`suspects` as such)."""

    mark: Mark
    error: ErrorDetail
    refused: Refusal
    suspects: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class Replaced:
    """What former contents of a name refer to, and since when the first of them is replaced."""

    refs: Refs
    since: float


class TypeState:
    """The state of one type on one stream.

    `held` is what the client has once it has accepted all that was sent, `acked` what it has accepted, `confirmed`
    what it had when it last accepted a whole response, and claims on its next stream; all hold only as far as the
    subscription reaches, and until the first response only by guess where the client claims what nobody knows
    (`guessed`). `resend` are names to be sent whatever is held, `asked` those of them that a request waits for, `fresh`
    those that were asked for and not sent since, so that the client may not have what is held of them.
    `replaced` is what accepted contents have replaced, by name, as long as that may be in use. `frozen` is the
    snapshot of the last refusal. `presumed` is the nonce of a response whose answer is no longer waited for.
    """

    __slots__ = (
        "acked",
        "answered",
        "asked",
        "confirmed",
        "fresh",
        "frozen",
        "guessed",
        "held",
        "last_acked",
        "last_nacked",
        "last_sent",
        "named",
        "overcome",
        "pending",
        "presumed",
        "refusals",
        "replaced",
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
        self.start(base)
        self.resend = self.asked = self.fresh = NO_NAMES
        self.answered = False
        self.guessed = False
        self.pending: list[Pending] = []
        self.refusals: Sequence[Refusal] = ()
        self.frozen: Snapshot | None = None
        self.replaced: dict[str, Replaced] = {}
        self.waits_for: str | None = None
        self.waits_since = 0.0
        self.serial = 0
        self.timeouts = 0
        self.presumed = ""
        self.last_sent: Mark | None = None
        self.last_acked: Mark | None = None
        self.last_nacked: Nack | None = None
        self.overcome = False

    def start(self, base: Typeset) -> None:
        """Note that the client has `base`, as far as it has asked."""
        self.held = self.acked = self.confirmed = base

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

    def sent(self, response: Response, step: Step, now: float) -> None:
        """Note that the response of a step went out, with that nonce."""
        asked = frozenset(response.changes) if self.guessed else self.fresh
        self.pending.append(Pending(response, self.held, step.after, step.releases, step.warms, now, asked))
        self.held = step.after
        self.answered = True
        self.guessed = False
        # An empty set is an object, too, and each stream would keep its own.
        self.resend = self.resend.difference(response.changes) or NO_NAMES
        self.asked = NO_NAMES
        self.fresh = self.fresh.difference(response.changes) or NO_NAMES
        self.serial = response.serial
        self.last_sent = Mark(response.version, response.nonce, now)

    def settle(self, typeset: Typeset, withheld: frozenset[str]) -> None:
        """Note that the client needs nothing to be at `typeset`, as far as it has asked and may be told."""
        self.held = self.acked = typeset
        self.resend, self.asked, self.fresh = self.resend & withheld, self.asked & withheld, self.fresh & withheld

    def forget_unless(self, names: frozenset[str]) -> None:
        """Note that the client has nothing but `names` of what it had: it asks for everything from now on."""
        self.acked = _only(self.acked, names)
        self.held = _only(self.held, names)
        self.pending = [each._replace(after=_only(each.after, names)) for each in self.pending]
        self.answered = False

    def ack(self, pending: Pending, now: float, *, whole: bool) -> None:
        """Note that the client accepted a response, and with it everything sent before.

        Unless the version of a response stands for the `whole` type, the client goes on to claim former contents of
        what it was not sent in it, though it may have applied newer ones of a response that it refused.
        """
        changes = pending.response.changes
        is_calm = whole or self.confirmed is self.acked
        after = (
            pending.after if is_calm else self.confirmed.overlay({each: pending.after.get(each) for each in changes})
        )
        self.acked, self.confirmed = pending.after, after
        self._clear(changes.items())
        del self.pending[: self.pending.index(pending) + 1]
        self.last_acked = Mark(pending.response.version, pending.response.nonce, now)

    def nack(self, pending: Pending, error: ErrorDetail, snapshot: Snapshot, now: float) -> None:
        """Note that the client refused a response; `snapshot` is the group's at this moment.

        Some clients name the culprits and apply the others, or name the one that breaks a constraint and apply
        nothing, so that the others have to be sent again; else all that was new in the response is under suspicion
        together, and the client may have applied a part of it.
        """
        response, position = pending.response, self.pending.index(pending)
        before = self.pending[position - 1].after if position else self.acked
        named = _named_culprits(error.message, response.changes)
        invalid = _invalid_culprit(error.message, response.changes)
        culprits = named or invalid or _suspects(pending, before)
        refused: Refusal = frozenset((name, response.changes[name]) for name in culprits)
        refusals = [frozenset((content,)) for content in refused] if named or invalid else [refused]
        changes = dict.fromkeys(response.changes) if named else dict.fromkeys(culprits)
        for name in changes:
            new, alone = pending.after.get(name), bool(named or invalid) or len(culprits) == 1
            changes[name] = _refused(pending, name, before.get(name), alone=alone) if name in culprits else new
        self.acked = before.overlay(changes)
        del self.pending[: position + 1]
        self._replay()
        if named:
            self._clear(response.changes.items() - refused)
        if refused:
            self.refusals = [*self.refusals, *refusals][-_REFUSALS_KEPT:]
        self.frozen = snapshot
        found = (pending.after.get(name) for name, version in sorted(refused, key=lambda each: each[0]) if version)
        suspects = tuple(each for each in found if each is not None)
        # A client may print what it refuses, keys and all: so its words are never kept, shown or logged as they are.
        contents = filter(None, map(pending.after.get, response.changes))
        said = ErrorDetail(error.code, without_secrets(error.message, contents)).short()
        self.last_nacked = Nack(Mark(response.version, response.nonce, now), said, refused, suspects)
        self.overcome = False

    def compare(self, source: Typeset) -> None:
        """Note whether the last refusal is over: all of `source` is accepted, as it may be without any response."""
        if self.refused_in(source):
            self.overcome = False
        elif not self.pending and self.acked.version == source.version:
            self.overcome = True

    def _clear(self, accepted: AbstractSet[tuple[str, str | None]]) -> None:
        """Note that contents are accepted: they were not what made the client refuse them together with others."""
        if self.refusals:
            self.refusals = [rest for rest in (refusal - accepted for refusal in self.refusals) if rest]

    def _replay(self) -> None:
        """Work out anew what the client has after the responses that are still on their way."""
        self.held = self.acked
        for index, later in enumerate(self.pending):
            changes = {name: later.after.get(name) for name in later.response.changes}
            self.held = self.held.overlay(changes)
            self.pending[index] = later._replace(after=self.held)

    def has_refused(self, content: Resource | None) -> bool:
        """Whether the client has refused this content for itself."""
        return content is not None and frozenset(((content.name, content.version),)) in self.refusals

    def refused_in(self, source: Typeset) -> dict[str, str | None]:
        """The names whose content in `source` this client has refused, each with that version."""
        found: dict[str, str | None] = {}
        for refusal in self.refusals:
            if all(source.version_of(name) == version for name, version in refusal):
                found.update(refusal)
        return found


def _named_culprits(message: str, changes: Mapping[str, str | None]) -> frozenset[str]:
    if not _NAMES_CULPRITS.match(message):
        return frozenset()
    words = frozenset(_WORD.findall(message))
    broken = (name for name in changes if " " in name or "," in name)
    return (words & changes.keys()) | {name for name in broken if re.search(rf"[\s,]{re.escape(name)}: ", message)}


def _invalid_culprit(message: str, changes: Mapping[str, str | None]) -> frozenset[str]:
    found = _INVALID_NAME.search(message) if _INVALID in message else None
    return frozenset(found.groups()) & changes.keys() if found else frozenset()


def _suspects(pending: Pending, before: Typeset) -> frozenset[str]:
    """What may have made a client refuse a response: all but what it has accepted before, unless there is no more."""
    accepted = {name for name in pending.response.changes if _is_nothing_new(pending, name, before.get(name))}
    return frozenset(pending.response.changes.keys() - accepted) or frozenset(pending.response.changes)


def _is_nothing_new(pending: Pending, name: str, had: Resource | None) -> bool:
    """Whether the client has accepted a content before that comes again, to end a doubt or because a cluster waits."""
    new = pending.after.get(name)
    if isinstance(had, Doubtful):
        return had.old is new and (had.is_sure or new is None)
    return had is not None and new is not None and had.version == new.version and name not in pending.asked


def _refused(pending: Pending, name: str, old: Resource | None, *, alone: bool) -> Resource | None:
    """What a client has of a name whose new content it refused, alone or together with others."""
    new, is_sure = pending.after.get(name), name not in pending.asked
    if isinstance(old, Doubtful) and old.old is not None and new is not None and old.old.version == new.version:
        return Doubtful(name, old.type_url, None, old, is_sure=False)
    if not is_sure and old is not None and new is not None and old.version == new.version:
        old = None
    if (alone and (is_sure or old is None)) or (old is None and new is None):
        return old
    return Doubtful(name, pending.response.type_url, old, None if alone else new, is_sure=is_sure)


def _only(typeset: Typeset, names: frozenset[str]) -> Typeset:
    return typeset.overlay(dict.fromkeys(typeset.resources.keys() - names))
