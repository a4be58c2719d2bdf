"""The ledger: what one stream has carried, and the rules that every response must keep (DESIGN, section 5).

It looks at each response at the moment the server sends it, so nothing depends on when the client reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.protocol.model import Refusal, Violation
from tests.protocol.speech import Received
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.stream.session import Variant
from xds_server.stream.subscription import WILDCARD
from xds_server.wire.request import DeltaRequest, Request, SotwRequest
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response
from xds_server.wire.types import BY_NAME_ONLY, CLUSTER, ENDPOINT, WHOLE_STATE, key_of

Content = tuple[str, str | None]


@dataclass(slots=True)
class _Sent:
    nonce: str
    changes: frozenset[Content]
    assignments: frozenset[str]


@dataclass(slots=True)
class _Type:
    """One type on the stream: `sent` is what the client has once it accepts all, as name → version."""

    wildcard: bool = False
    names: frozenset[str] = frozenset()
    claimed: str = ""
    responses: int = 0
    asked: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    sent: dict[str, str | None] = field(default_factory=dict)
    unanswered: list[_Sent] = field(default_factory=list)
    refused: set[Content] = field(default_factory=set)
    together: list[frozenset[Content]] = field(default_factory=list)

    def covers(self, name: str) -> bool:
        return self.wildcard or name in self.names

    def unsettled(self) -> set[str]:
        """What the client may have in another content than it will claim."""
        return self.doubtful.union(name for each in self.unanswered for name, _ in each.changes)


class Ledger:
    """The checks of one stream."""

    def __init__(self, variant: Variant, before: Ledger | None = None) -> None:
        """Begin a stream; what clusters still wait for of the stream before may come again on this one."""
        self.types: dict[str, _Type] = {}
        self._inherited: frozenset[str] = frozenset()
        self._unsure: set[str] = set()
        self._unsettled: dict[str, set[str]] = {}
        if before is not None:
            # A client claims what it last accepted as a whole; it may have applied a part of what came after.
            opened = {url for url, entry in before.types.items() if not (entry.unanswered or entry.doubtful)}
            self._unsure = (before._unsure | before.types.keys()) - opened
            self._unsettled = {**before._unsettled, **{url: entry.unsettled() for url, entry in before.types.items()}}
            clusters = before.types.get(CLUSTER)
            self._inherited = before._inherited
            if clusters is not None:
                self._inherited = frozenset().union(*(each.assignments for each in clusters.unanswered))
        self.owed = set(self._inherited)
        self._variant = variant
        self._nonces: set[str] = set()

    def is_waiting(self) -> bool:
        """Whether a response is out and not answered."""
        return any(entry.unanswered for entry in self.types.values())

    def refused_any(self) -> bool:
        """Whether the client has refused anything on this stream."""
        return any(entry.refused or entry.together for entry in self.types.values())

    def refused(self, source: Typeset, name: str) -> bool:
        """Whether the client has refused the content of that name, alone or together with all that is as it was."""
        entry = self.types.get(source.type_url, _Type())
        content = (name, source.version_of(name))
        return content in entry.refused or any(
            content in together and all(source.version_of(each) == version for each, version in together)
            for together in entry.together
        )

    def published(self, snapshot: Snapshot) -> None:
        """Note a new snapshot: what is declared no more, and can't be told in SotW, is new when it comes back."""
        for url, entry in self.types.items():
            if self._variant is Variant.SOTW and url not in WHOLE_STATE:
                source = snapshot.typeset(url)
                entry.sent = {name: version for name, version in entry.sent.items() if name in source}

    def requested(
        self, request: Request, refusal: Refusal | None, suspects: frozenset[Content], source: Typeset
    ) -> None:
        """Note a request that has reached the server, which suspects these contents in case of a refusal."""
        first = request.type_url not in self.types
        entry = self.types.setdefault(request.type_url, _Type())
        self._note_answer(entry, request, refusal, suspects)
        if isinstance(request, SotwRequest):
            _note_sotw(entry, request, first=first)
            if first and request.version_info == source.version:
                entry.claimed = source.version
        else:
            _note_delta(entry, request, first=first)
            if first:
                entry.doubtful |= self._unsettled.get(request.type_url, set())

    def responded(self, response: Response, received: Received, source: Typeset) -> None:
        """Check a response that the server sends, and note it."""
        entry = self.types.get(response.type_url)
        if entry is None:
            raise Violation(f"a response for {response.type_url}, which was not asked for")
        self._check_nonce(response)
        resources = {each.name: version for each, version in zip(received.contents, _versions(received), strict=True)}
        if len(resources) != len(received.contents):
            raise Violation(f"{key_of(response.type_url)}: a name twice in one response")
        self._check_pending(entry, response, resources.keys() | set(received.removed))
        self._check_refused(entry, response, resources)
        if self._variant is Variant.SOTW and response.type_url in WHOLE_STATE:
            self._check_whole(entry, response, resources, source)
        else:
            self._check_news(entry, response, resources, received.removed)
        self._note_response(entry, response, resources, received, source)

    def _check_nonce(self, response: Response) -> None:
        if not response.nonce or response.nonce in self._nonces:
            raise Violation(f"nonce {response.nonce!r} was used before on this stream")
        self._nonces.add(response.nonce)

    def _check_pending(self, entry: _Type, response: Response, names: set[str]) -> None:
        if not entry.unanswered:
            return
        unasked = {name for name in names if name not in entry.asked}
        if self._variant is Variant.SOTW or unasked:
            raise Violation(f"{key_of(response.type_url)}: a second response is out, unasked: {sorted(unasked)}")

    def _check_refused(self, entry: _Type, response: Response, resources: dict[str, str]) -> None:
        again = entry.refused & set(resources.items())
        if again:
            raise Violation(f"{key_of(response.type_url)}: refused content was sent again: {sorted(again)}")
        whole = self._variant is Variant.SOTW and response.type_url in WHOLE_STATE
        for together in entry.together:
            if all(
                resources.get(name) == version
                if version is not None
                else (name not in resources if whole else response.changes.get(name, "") is None)
                for name, version in together
            ):
                raise Violation(f"{key_of(response.type_url)}: the same was refused together: {sorted(together)}")

    def _check_whole(self, entry: _Type, response: Response, resources: dict[str, str], source: Typeset) -> None:
        """SotW clusters and listeners: all that is subscribed and known to the client is there, and something is new."""
        excused = entry.doubtful | {name for name, _ in entry.refused}
        missing = [
            name
            for name in source.resources
            if entry.covers(name) and name in entry.sent and name not in resources and name not in excused
        ]
        if missing:
            raise Violation(f"{key_of(response.type_url)}: {missing} are missing, that is, removed")
        if any(not entry.covers(name) for name in resources):
            raise Violation(f"{key_of(response.type_url)}: {sorted(resources)} holds what was not asked for")
        if entry.responses == 0:
            url = response.type_url
            if entry.wildcard and not entry.names and entry.claimed == response.version and url not in self._unsure:
                raise Violation(f"{key_of(response.type_url)}: version {response.version} was claimed and sent")
        elif resources == entry.sent and not entry.asked & response.changes.keys() and not entry.doubtful:
            raise Violation(f"{key_of(response.type_url)}: nothing in the response is new or asked for")

    def _check_news(
        self, entry: _Type, response: Response, resources: dict[str, str], removed: tuple[str, ...]
    ) -> None:
        """Each resource, and each removal, is new to the client, or asked for, or owed to a cluster."""
        key = key_of(response.type_url)
        told: dict[str, str | None] = {**resources, **dict.fromkeys(removed)}
        if len(told) != len(resources) + len(removed):
            raise Violation(f"{key}: a name is both there and removed")
        for name, version in told.items():
            if not entry.covers(name):
                raise Violation(f"{key}: {name} was not asked for")
            known = entry.sent.get(name, "" if version is not None else None) == version
            owed = response.type_url == ENDPOINT and name in self.owed
            if known and not owed and name not in entry.asked | entry.doubtful:
                raise Violation(f"{key}: {name} is sent, but neither new nor asked for")
        if not told and (self._variant is Variant.SOTW or not entry.wildcard or entry.responses):
            raise Violation(f"{key}: an empty response")

    def _note_response(
        self, entry: _Type, response: Response, resources: dict[str, str], received: Received, source: Typeset
    ) -> None:
        """Note what was sent; clusters that are sent (again) want their assignments (again)."""
        removed, changes = received.removed, response.changes
        unsure = self._variant is Variant.SOTW and not entry.responses
        new = [each for each in received.contents if unsure or changes.get(each.name) is not None]
        assignments = frozenset(name for each in new for name in each.refs.assignments)
        entry.responses += 1
        entry.unanswered.append(_Sent(response.nonce, frozenset(changes.items()), assignments))
        whole = self._variant is Variant.SOTW and response.type_url in WHOLE_STATE
        told = resources.keys() | set(removed)
        if whole:
            entry.sent = dict(resources)
            entry.asked.clear()
        else:
            kept = self._variant is Variant.DELTA or response.type_url in WHOLE_STATE
            entry.sent.update((name, version) for name, version in resources.items() if kept or name in source)
            entry.sent.update(dict.fromkeys(removed))
            entry.asked -= told
        if response.type_url == ENDPOINT:
            self.owed -= told
        self.owed |= assignments

    def _note_answer(
        self, entry: _Type, request: Request, refusal: Refusal | None, suspects: frozenset[Content]
    ) -> None:
        index = next((i for i, each in enumerate(entry.unanswered) if each.nonce == request.nonce), None)
        if index is None:
            return
        answered = entry.unanswered[index]
        del entry.unanswered[: index + 1]
        names = {name for name, _ in answered.changes}
        if request.error is None:
            entry.doubtful -= names
            entry.together = [rest for rest in (each - answered.changes for each in entry.together) if rest]
            return
        for name in names:
            entry.sent.pop(name, None)
        entry.doubtful |= names
        bad = {content for content in answered.changes if refusal is not None and content[0] in refusal.bad}
        if not bad <= suspects:
            raise Violation(f"{key_of(request.type_url)}: {sorted(bad)} were refused, but {sorted(suspects)} suspected")
        if refusal is not None and refusal.named:
            entry.refused |= bad
        else:
            entry.together.append(suspects)


def _note_sotw(entry: _Type, request: SotwRequest, *, first: bool) -> None:
    names = request.names - {WILDCARD}
    wildcard = WILDCARD in request.names or (not request.names and entry.wildcard)
    if first:
        wildcard = wildcard or (not request.names and request.type_url not in BY_NAME_ONLY)
    entry.asked |= names - entry.names
    for name in entry.names - names:
        entry.sent.pop(name, None)
    entry.asked &= names
    entry.wildcard, entry.names = wildcard, names


def _note_delta(entry: _Type, request: DeltaRequest, *, first: bool) -> None:
    asked, dropped = request.subscribe - {WILDCARD}, request.unsubscribe - {WILDCARD}
    legacy = first and not request.subscribe and request.type_url not in BY_NAME_ONLY
    entry.wildcard = entry.wildcard or legacy or WILDCARD in request.subscribe
    entry.names = (entry.names | asked) - dropped
    for name in dropped:
        entry.sent.pop(name, None)
    entry.asked = (entry.asked | asked) - dropped
    if first:
        entry.sent.update(request.initial_versions)
        entry.asked -= request.initial_versions.keys()


def _versions(received: Received) -> list[str]:
    """The versions of a response's contents: told by the protocol (delta), or made of the bytes (SotW)."""
    if received.versions is not None:
        return [received.versions[each.name] for each in received.contents]
    return [Resource(each.name, received.type_url, each.body).version for each in received.contents]
