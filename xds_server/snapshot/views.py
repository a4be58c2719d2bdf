"""Views: what each stream of a group is offered. Most get the snapshot; who began while something was judged lacks that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet

from xds_server.snapshot.closure import Prune
from xds_server.snapshot.judgements import Content, Judgement, Judgements
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.stand_ins import without
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource

Current = Callable[[], Snapshot | None]
"""The snapshot of the group now."""


class Views:
    """The streams of one group that lack something, and the variants of its snapshot that are made for them.

    What a stream lacks only ever shrinks: a content that it was offered once is not taken back. Methods that take a
    fact in give the streams that are offered more because of it.
    """

    def __init__(self, current: Current, prune: Prune) -> None:
        self._judgements = Judgements()
        self._current = current
        self._prune = prune
        self._lacking: dict[object, frozenset[Content]] = {}
        self._settled: dict[object, frozenset[str]] = {}
        self._made: dict[frozenset[Content], Snapshot] = {}
        self._base: Snapshot | None = None
        self._judged: frozenset[Content] | None = None

    def begin(self, stream: object, *, goes_on: bool = False) -> None:
        """A stream begins: it lacks what is judged at this moment.

        A client that goes on with what it has lacks nothing if that would take something away from it: it may refuse
        the judged contents and keep what it has, of which this process need not know.
        """
        self._turn()
        judged = self._standing()
        if judged and not (goes_on and self._takes_away(judged)):
            self._lacking[stream] = judged

    def end(self, stream: object) -> Iterable[object]:
        """A stream has ended."""
        self._lacking.pop(stream, None)
        self._settled.pop(stream, None)
        return self._retry() if self._judgements.leave(stream) else ()

    def offer(self) -> Snapshot | None:
        """What a stream would get that begins now."""
        self._turn()
        return self._without(self._standing())

    def of(self, stream: object) -> Snapshot | None:
        """What a stream is to have now."""
        self._turn()
        return self._without(self._lacking.get(stream, frozenset()))

    def accept(self, serial: int, changes: Mapping[str, str | None], after: Typeset) -> Iterable[object]:
        """A node has accepted a response (see `Accepted.note`)."""
        return self._release() if self._judgements.accept(serial, changes, after) else ()

    def accept_some(self, serial: int, contents: Iterable[Resource], after: Typeset) -> Iterable[object]:
        """A node has accepted some contents of a response that it refused."""
        return self._release() if self._judgements.accept_some(serial, contents, after) else ()

    def claim(self, has: Typeset, names: frozenset[str] | None) -> Iterable[object]:
        """A node says that it has accepted a typeset, all or these names of it, before this stream or process."""
        return self._release() if self._judgements.claim(has, names) else ()

    def refuse(self, stream: object, node: str, suspects: Iterable[Resource], message: str, had: Typeset) -> None:
        """A node has refused contents (see `Judgements.refuse`): streams that begin from now on lack them."""
        self._judgements.refuse(stream, node, suspects, message, had)
        self._judged = None

    def settle(self, stream: object, types: AbstractSet[str]) -> Iterable[object]:
        """A stream has accepted all that it is offered of these types."""
        if stream not in self._lacking or self._settled.get(stream) == types:
            return ()
        self._settled[stream] = frozenset(types)
        return self._retry()

    def standing(self) -> list[Judgement]:
        """What streams that begin now would lack."""
        current = self._current()
        return list(self._judgements.standing(current)) if current is not None else []

    def typeset(self, type_url: str, version: str) -> Typeset | None:
        """The typeset of that type and version of a view that somebody has."""
        found = (view.typeset(type_url) for view in self._made.values())
        return next((each for each in found if each.version == version), None)

    def _standing(self) -> frozenset[Content]:
        if self._judged is None:
            self._judged = frozenset(each.content for each in self.standing())
        return self._judged

    def _turn(self) -> None:
        """Go on with a newer snapshot: streams lack what they lacked, as far as it is in it and still judged."""
        current = self._current()
        if current is self._base:
            return
        self._base, self._made, self._judged = current, {}, None
        self._settled.clear()
        self._release()

    def _release(self) -> list[object]:
        """Have no stream lack what is not judged any more."""
        self._judged = None
        judged = self._standing()
        return self._shrink({stream: lacks & judged for stream, lacks in self._lacking.items()})

    def _retry(self) -> list[object]:
        """Offer what nobody refuses any more to streams that have something to fall back on."""
        rest = {}
        for stream, types in self._settled.items():
            lacks = self._lacking.get(stream, frozenset())
            rest[stream] = lacks - {each for each in lacks if each[0] in types and not self._is_refused(each)}
        return self._shrink(rest)

    def _is_refused(self, content: Content) -> bool:
        judgement = self._judgements.get(content)
        return judgement is not None and bool(judgement.refusing)

    def _takes_away(self, lacks: frozenset[Content]) -> bool:
        """Whether there is anything in the snapshot for which the view without these contents has nothing at all."""
        base, view = self._base, self._without(lacks)
        if base is None or view is None:
            return False
        return any(typeset.resources.keys() - view.typeset(url).resources.keys() for url, typeset in base.types.items())

    def _shrink(self, rest: Mapping[object, frozenset[Content]]) -> list[object]:
        changed = [stream for stream, lacks in rest.items() if lacks != self._lacking.get(stream, frozenset())]
        for stream in changed:
            if rest[stream]:
                self._lacking[stream] = rest[stream]
            else:
                del self._lacking[stream]
        return changed

    def _without(self, lacks: frozenset[Content]) -> Snapshot | None:
        if not lacks or self._base is None:
            return self._base
        view = self._made.get(lacks)
        if view is None:
            judged = [each for each in map(self._judgements.get, lacks) if each is not None]
            withheld = {(each.resource.type_url, each.resource.name): each.stand_in for each in judged}
            view = self._made[lacks] = without(self._base, withheld, self._judgements.accepted.get, self._prune)
        return view
