"""From what is wanted of a group to what it is served: rollbacks and switches stand between the two. Pure.

Every snapshot that gets a seq is made here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xds_server.ir.switches import Switch, Switches
from xds_server.snapshot.hold import Types, pin
from xds_server.snapshot.snapshot import Behind, Change, Hold, LeftOut, Snapshot


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a group would be served if nothing held it."""

    types: Types
    left_out: tuple[LeftOut, ...]


NOTHING = Wanted({}, ())


class Serving:
    """What each group is served, and what holds it back from what is wanted.

    Read-only, nothing is published at all, so that a version which is never served has no seq. Frozen, each group is
    pinned to what it was served then, as by a rollback; a group that was served nothing yet goes on without.
    """

    def __init__(self) -> None:
        self._published: dict[str, Snapshot] = {}
        self._held: dict[str, Types] = {}
        self._frozen: dict[str, Types] | None = None
        self._switches = Switches()
        self.behind: dict[str, Behind] = {}
        """The groups that are not served what is wanted, because of a switch."""

    def restore(self, snapshot: Snapshot) -> None:
        """Begin with what a group was served last, before this process."""
        self._published[snapshot.group] = snapshot
        if snapshot.held is not None:
            self._held[snapshot.group] = snapshot.types

    def hold(self, group: str, version: Snapshot | None) -> None:
        """Pin a group to a version from its next snapshot on, or let go of it (None)."""
        if version is not None:
            self._held[group] = version.types
        else:
            self._held.pop(group, None)

    def govern(self, switches: Switches) -> None:
        """Go by these switches from now on; frozen is what is served when that begins."""
        self._switches = switches
        if switches.frozen is None:
            self._frozen = None
        elif self._frozen is None:
            self._frozen = {group: each.types for group, each in self._published.items()}

    def settle(self, group: str, wanted: Wanted, origin: Change, now: float) -> Snapshot | None:
        """The next snapshot of a group, None where it is served what it should be, or nothing may be published."""
        published = self._published.get(group)
        types = self._types(group, wanted)
        self._note(group, wanted, types)
        is_new = published is None or published.left_out != wanted.left_out or not equal(published.types, types)
        if published is None and self._frozen is not None:
            return None
        if is_new or published is None:
            held = published.held if published is not None else None
            return None if self._switches.read_only else self.publish(group, wanted, held, origin, now)
        if _unknown(published.types) == _unknown(types):
            return None
        # The content is as before; some of it was not known to this process, and is now.
        filled = self._published[group] = replace(published, types=types)
        return filled

    def publish(self, group: str, wanted: Wanted, held: Hold | None, origin: Change, now: float) -> Snapshot:
        """The next snapshot of a group, whatever it is served now."""
        types = self._types(group, wanted)
        self._note(group, wanted, types)
        before = self._published.get(group)
        seq = before.seq + 1 if before else 1
        snapshot = self._published[group] = Snapshot(group, seq, now, types, wanted.left_out, origin, held)
        return snapshot

    def _types(self, group: str, wanted: Wanted) -> Types:
        if group in self._held:
            return pin(wanted.types, self._held[group])
        if self._frozen is not None:
            return pin(wanted.types, self._frozen.get(group, {}))
        return wanted.types

    def _note(self, group: str, wanted: Wanted, types: Types) -> None:
        """Note whether a group is behind: what of it may not be served."""
        why = self._switches.read_only or self._switches.frozen
        published = self._published.get(group)
        served: Types = published.types if published is not None else {}
        behind = dict(self.behind)
        behind.pop(group, None)
        if why is not None and not equal(served if self._switches.read_only else types, wanted.types):
            word = "ReadOnly" if self._switches.read_only else "Frozen"
            behind[group] = Behind(_version(group, wanted.types), word, _told(why))
        self.behind = behind


def equal(before: Types, after: Types) -> bool:
    """Whether both have the same content of every type, whichever of it is known to this process."""
    return _versions(before) == _versions(after)


def _versions(types: Types) -> dict[str, str]:
    return {url: typeset.version for url, typeset in types.items() if len(typeset)}


def _unknown(types: Types) -> dict[str, frozenset[str]]:
    return {url: typeset.unknown for url, typeset in types.items() if typeset.unknown}


def _version(group: str, types: Types) -> str:
    return Snapshot(group, 0, 0.0, types).version


def _told(switch: Switch) -> str:
    return f"by {switch.by}: {switch.reason}"
