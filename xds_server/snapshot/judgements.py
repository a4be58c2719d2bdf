"""Judgements: which contents of a group some node has refused and none has accepted, and what stands in for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xds_server.snapshot.accepted import Accepted
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource

Content = tuple[str, str, str]
"""(type URL, name, version)."""

_KEPT = 10_000
"""Judgements that a group keeps: the newest."""

_NAMED = 10
"""Nodes that a judgement names."""


@dataclass(slots=True)
class Judgement:
    """A content that was refused: what stands in for it, by which `nodes` (ten at most), in the words of the first.

    `refusing` are the streams, still up, on which it was refused.
    """

    resource: Resource
    stand_in: Resource | None
    message: str
    nodes: list[str] = field(default_factory=list)
    refusing: set[object] = field(default_factory=set)

    @property
    def content(self) -> Content:
        """Which content it is."""
        return content_of(self.resource)


class Judgements:
    """The facts about one group: told by its streams, asked when another stream begins."""

    def __init__(self) -> None:
        self.accepted = Accepted()
        self._judged: OrderedDict[Content, Judgement] = OrderedDict()

    def get(self, content: Content) -> Judgement | None:
        """The judgement about a content, None when it is not judged."""
        return self._judged.get(content)

    def accept(self, serial: int, changes: Mapping[str, str | None], after: Typeset) -> bool:
        """A node has accepted a response (see `Accepted.note`); whether that ends a judgement."""
        return self._end(self.accepted.note(serial, changes, after))

    def refuse(self, stream: object, node: str, suspects: Iterable[Resource], message: str, had: Typeset) -> None:
        """A node has refused these contents together; `had` is what it had of their type before."""
        for suspect in suspects:
            known = self.accepted.get(suspect.type_url, suspect.name)
            if known is not None and known.version == suspect.version:
                continue
            content = content_of(suspect)
            judgement = self._judged.get(content)
            if judgement is None:
                judgement = self._judged[content] = Judgement(suspect, known or _of(had, suspect), message)
                if len(self._judged) > _KEPT:
                    self._judged.popitem(last=False)
            judgement.refusing.add(stream)
            if node not in judgement.nodes and len(judgement.nodes) < _NAMED:
                judgement.nodes.append(node)

    def accept_some(self, serial: int, contents: Iterable[Resource], after: Typeset) -> bool:
        """A node has accepted some of a response that it refused; whether that ends a judgement."""
        found = list(contents)
        self.accepted.note_some(serial, found, after)
        return self._end(found)

    def claim(self, has: Typeset, names: frozenset[str] | None) -> bool:
        """A node says what it has accepted (see `Accepted.claim`); whether that ends a judgement."""
        return self._end(self.accepted.claim(has, names))

    def leave(self, stream: object) -> bool:
        """A stream has ended; whether it was the last one that refused something."""
        refused = [each for each in self._judged.values() if stream in each.refusing]
        for each in refused:
            each.refusing.discard(stream)
        return any(not each.refusing for each in refused)

    def standing(self, snapshot: Snapshot) -> Iterator[Judgement]:
        """The judgements about contents that a snapshot has."""
        for (url, name, version), judgement in self._judged.items():
            if snapshot.typeset(url).version_of(name) == version:
                yield judgement

    def _end(self, accepted: Iterable[Resource]) -> bool:
        if not self._judged:
            return False
        ended = [self._judged.pop(content_of(each), None) for each in accepted]
        return any(ended)


def content_of(resource: Resource) -> Content:
    """Which content a resource is."""
    return (resource.type_url, resource.name, resource.version)


def _of(had: Typeset, suspect: Resource) -> Resource | None:
    """What a node had of a name, as far as that is known."""
    found = had.get(suspect.name)
    return found if found is not None and found.is_known and found.version != suspect.version else None
