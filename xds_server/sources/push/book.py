"""The book: which owner has which set in force, and who holds which name. Pure but for its memory; it knows no clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xds_server.ir.declared import EncodedDocument
from xds_server.sources.push.model import (
    BaseError,
    Changed,
    Conflict,
    ConflictError,
    LimitError,
    Limits,
    Name,
    NoSetError,
    Place,
    Push,
    PushedSet,
    Said,
)


class Book:
    """Takes requests whole or not at all. `now` is in seconds of any clock that never goes back.

    A change costs what changed, not what there is.
    """

    def __init__(self, limits: Limits) -> None:
        self.sets: dict[Place, PushedSet] = {}
        self.count = 0
        self._limits = limits
        self._holders: dict[tuple[str, Name], str] = {}

    def restore(self, place: Place, pushed: PushedSet, now: float) -> None:
        """Have a set in force that was so before this process; its lease begins anew."""
        self.sets[place] = pushed
        self._renew(pushed, now)
        pushed.counts.update(type_url for type_url, _ in pushed.resources)
        pushed.lacking = {name for name, document in pushed.resources.items() if not document.body}
        self._hold(place, pushed.resources, ())
        self.count += len(pushed.resources)

    def is_again(self, place: Place, said: Said | Push) -> bool:
        """Whether a request says what is in force already, and brings nothing that is lacking."""
        pushed = self.sets.get(place)
        if pushed is None or pushed.version != said.version:
            return False
        return not (pushed.lacking and said.resources)

    def show(self, place: Place) -> Changed:
        """What is in force of a set, as the change that nothing has made.

        Raises:
            NoSetError: there is none.
        """
        pushed = self.sets.get(place)
        if pushed is None:
            raise NoSetError(place)
        return Changed(place, pushed.version, pushed, is_new=False)

    def put(self, place: Place, push: Push, now: float) -> Changed:
        """Replace a set whole; the version that is in force already only renews the lease.

        Raises:
            ConflictError, LimitError: it is refused.
        """
        if self.is_again(place, push):
            return self._again(place, push.lease or None, now)
        wanted = {_name(each): each for each in push.resources}
        old = self.sets.get(place)
        removed = [name for name in old.resources if name not in wanted] if old is not None else []
        return self._take(place, replace(push, removed=removed, lease=push.lease or None), wanted, now)

    def patch(self, place: Place, push: Push, now: float) -> Changed:
        """Add, replace and remove resources of a set; a set that is not there begins.

        Raises:
            BaseError, ConflictError, LimitError: it is refused.
        """
        old = self.sets.get(place)
        lease = (old.lease if old is not None else None) if push.lease is None else push.lease or None
        if self.is_again(place, push):
            return self._again(place, lease, now)
        current = old.version if old is not None else None
        if push.base is not None and current not in (push.base, push.version):
            raise BaseError(push.base, current)
        wanted = {_name(each): each for each in push.resources}
        there = old.resources if old is not None else {}
        removed = [name for name in dict.fromkeys(push.removed) if name in there]
        return self._take(place, replace(push, removed=removed, lease=lease), wanted, now)

    def delete(self, place: Place) -> Changed:
        """Drop a set.

        Raises:
            NoSetError: there is none.
        """
        pushed = self.sets.pop(place, None)
        if pushed is None:
            raise NoSetError(place)
        names = list(pushed.resources)
        self._hold(place, {}, names)
        self.count -= len(names)
        return Changed(place, pushed.version, None, removed=names)

    def expire(self, now: float) -> list[Changed]:
        """Drop the sets whose leases have run out; what became of each."""
        due = [place for place, pushed in self.sets.items() if pushed.expires is not None and pushed.expires <= now]
        return [self.delete(place) for place in due]

    def next_expiry(self) -> float | None:
        """When the next lease runs out; None when there is none."""
        return min((each.expires for each in self.sets.values() if each.expires is not None), default=None)

    def _again(self, place: Place, lease: float | None, now: float) -> Changed:
        pushed = self.sets[place]
        pushed.lease = lease
        self._renew(pushed, now)
        return Changed(place, pushed.version, pushed, is_new=False)

    def _take(
        self,
        place: Place,
        push: Push,
        wanted: Mapping[Name, EncodedDocument],
        now: float,
    ) -> Changed:
        """Take a request over of which `removed` are there, `wanted` the resources, and `lease` is what it shall be."""
        removed = push.removed
        pushed = self.sets.get(place)
        there = pushed.resources if pushed is not None else {}
        new = sum(name not in there for name in wanted)
        conflicts = list(self._conflicts(place, wanted))
        if conflicts:
            raise ConflictError(conflicts)
        self._check_limits(is_first=pushed is None, more=new - len(removed))
        before = pushed.version if pushed is not None else None
        if pushed is None:
            pushed = self.sets[place] = PushedSet(push.version)
        changed = {name: each for name, each in wanted.items() if not _is_same(each, pushed.resources.get(name))}
        pushed.counts.update(type_url for type_url, name in changed if (type_url, name) not in pushed.resources)
        pushed.counts.subtract(type_url for type_url, _ in removed)
        for name in removed:
            del pushed.resources[name]
        pushed.resources.update(changed)
        pushed.lacking.difference_update(changed, removed)
        pushed.version, pushed.lease = push.version, push.lease
        self._renew(pushed, now)
        self._hold(place, changed, removed)
        self.count += new - len(removed)
        return Changed(place, before, pushed, changed, removed)

    def _conflicts(self, place: Place, wanted: Mapping[Name, EncodedDocument]) -> Iterator[Conflict]:
        for index, name in enumerate(wanted):
            holder = self._holders.get((place.group, name), place.owner)
            if holder != place.owner:
                yield Conflict(name, holder, index)

    def _check_limits(self, *, is_first: bool, more: int) -> None:
        limits = self._limits
        if is_first and len(self.sets) >= limits.sets:
            raise LimitError(f"there are {limits.sets} sets; no more are allowed (max_sets of the push source)")
        if more > 0 and self.count + more > limits.resources:
            raise LimitError(
                f"there would be {self.count + more} pushed resources; {limits.resources} are allowed"
                " (max_resources of the push source)"
            )

    def _hold(self, place: Place, held: Mapping[Name, EncodedDocument], free: Sequence[Name]) -> None:
        for name in free:
            del self._holders[place.group, name]
        for name in held:
            self._holders[place.group, name] = place.owner

    @staticmethod
    def _renew(pushed: PushedSet, now: float) -> None:
        pushed.expires = None if pushed.lease is None else now + pushed.lease


def _name(document: EncodedDocument) -> Name:
    return document.type_url, document.name


def _is_same(new: EncodedDocument, old: EncodedDocument | None) -> bool:
    """Whether the content is as before; what of an earlier process is not known is not."""
    return old is not None and old.body == new.body
