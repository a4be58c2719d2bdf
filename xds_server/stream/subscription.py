"""What a client has asked for of one type: names, or everything, or both; equal subscriptions are one object."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakValueDictionary

from xds_server.ir.refs import NO_NAMES

WILDCARD = "*"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Subscription:
    """An interned subscription: compare with `is`. `names` are the explicit ones, without `*`."""

    wildcard: bool
    names: frozenset[str]

    def covers(self, name: str) -> bool:
        """Whether a resource of that name is asked for."""
        return self.wildcard or name in self.names

    def select(self, names: frozenset[str]) -> frozenset[str]:
        """Those of `names` that are asked for."""
        return names if self.wildcard else (names & self.names) or NO_NAMES


_interned: WeakValueDictionary[tuple[bool, frozenset[str]], Subscription] = WeakValueDictionary()


def subscription(*, wildcard: bool = False, names: frozenset[str] = NO_NAMES) -> Subscription:
    """The one subscription of that meaning."""
    found = _interned.get((wildcard, names))
    if found is None:
        found = _interned[wildcard, names] = Subscription(wildcard, names)
    return found


NOTHING = subscription()
"""The subscription of a client that has asked for nothing."""
