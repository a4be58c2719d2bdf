"""Portions: an answer that clients with gRPC's default limit could not receive goes out in parts, one ACK apart.

gRPC refuses messages over 4 MiB unless told otherwise. Delta may always be split; state of the world only for types
whose response need not hold everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xds_server.snapshot.typeset import Typeset
from xds_server.stream.state import TypeState
from xds_server.wire.resource import Resource

PORTION = 4_000_000
"""Bytes of resources that one response holds at most, unless a single resource is larger: 4 MiB less an envelope."""

Changes = Mapping[str, str | None]
"""Name → version, None for a removal."""


def first_portion(
    state: TypeState, typeset: Typeset, changes: Changes, ready: Callable[[Resource], bytes]
) -> tuple[Changes, Typeset]:
    """The changes that fit into one response, and what the client has after it: all of `typeset`, or a part.

    `ready` gives a resource as the response holds it.
    """
    size = 0
    for count, (name, version) in enumerate(changes.items()):
        # Names that are gone do not count: only tens of thousands of them weigh, and they come last.
        size += 0 if version is None else len(ready(typeset.resources[name]))
        if size > PORTION and count:
            part = dict(list(changes.items())[:count])
            return part, state.held.overlay({each: typeset.get(each) for each in part})
    return changes, typeset
