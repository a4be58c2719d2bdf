"""What nodes of a group have accepted: of each name the newest content, found again when a newer one is refused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource

_SEEN = 4096
"""Responses that are remembered as looked at; one that comes up again later is only looked at twice."""

_SPARE = 256


@dataclass(slots=True)
class _Type:
    """One type: a whole typeset that was accepted at once, and contents that it lacks or has older, by their responses."""

    whole: Typeset | None = None
    serial: int = 0
    newer: dict[str, tuple[int, Resource]] = field(default_factory=dict)

    def replace(self, serial: int, after: Typeset) -> None:
        """Take over a whole typeset; names that it lacks keep what was accepted of them."""
        old = self.whole.resources if self.whole is not None else {}
        lost = {name: (self.serial, old[name]) for name in old.keys() - after.resources.keys()}
        newer = {name: each for name, each in self.newer.items() if each[0] > serial or name not in after}
        self.whole, self.serial, self.newer = after, serial, lost | newer
        self.prune(after)

    def prune(self, after: Typeset) -> None:
        """Names come and go: those that are gone are worth remembering only as long as there is room."""
        if len(self.newer) > 2 * len(after) + _SPARE:
            self.newer = {name: each for name, each in self.newer.items() if name in after}


class Accepted:
    """The newest accepted content of each name. A response that thousands of nodes accept is looked at once."""

    def __init__(self) -> None:
        self._types: dict[str, _Type] = {}
        self._seen: OrderedDict[object, None] = OrderedDict()

    def note(self, serial: int, changes: Mapping[str, str | None], after: Typeset) -> Iterable[Resource]:
        """Note that a response was accepted; its new contents, none when that was known.

        `serial` tells which of two responses was built later; `changes` says what was new in it, and `after` has it.
        """
        if self._is_seen(serial):
            return ()
        found = [after.resources[name] for name, version in changes.items() if version and name in after]
        known = self._types.setdefault(after.type_url, _Type())
        if len(found) == len(after) and serial > known.serial:
            known.replace(serial, after)
        else:
            self._add(known, serial, found, after)
        return found

    def claim(self, has: Typeset, names: frozenset[str] | None) -> Iterable[Resource]:
        """Note what a node says that it has accepted, of an earlier process or stream: all, or these names of a typeset.

        It is older than any response; the contents, none when that was known.
        """
        if self._is_seen((has.type_url, has.version, names)):
            return ()
        found = [each for each in has if each.is_known and (names is None or each.name in names)]
        self.note_some(0, found, has)
        return found

    def note_some(self, serial: int, contents: Iterable[Resource], after: Typeset) -> None:
        """Note contents that were accepted out of a response that was refused for others."""
        self._add(self._types.setdefault(after.type_url, _Type()), serial, contents, after)

    def get(self, type_url: str, name: str) -> Resource | None:
        """The newest content of that name that was accepted, None when there is none or its bytes are not known."""
        known = self._types.get(type_url)
        if known is None:
            return None
        serial, found = known.newer.get(name, (0, None))
        if serial < known.serial and known.whole is not None and name in known.whole:
            found = known.whole.get(name)
        return found if found is not None and found.is_known else None

    def _is_seen(self, what: object) -> bool:
        """Whether this was noted before; from now on it was."""
        if what in self._seen:
            return True
        self._seen[what] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return False

    def _add(self, known: _Type, serial: int, contents: Iterable[Resource], after: Typeset) -> None:
        for each in contents:
            if known.newer.get(each.name, (-1, None))[0] < serial:
                known.newer[each.name] = (serial, each)
        known.prune(after)
