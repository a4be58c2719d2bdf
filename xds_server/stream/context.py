"""What all streams of a server share: where snapshots come from, who is told, and the limits."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from xds_server.snapshot.groups import Groups
from xds_server.status.tracker import Tracker
from xds_server.stream.handover import NO_LEGACY, Legacy
from xds_server.stream.sequencer import Waits
from xds_server.wire.grouping import Grouping
from xds_server.wire.node import NodeInfo
from xds_server.wire.request import RequestParser

_DEPARTED_KEPT = 10_000


class Meter(Protocol):
    """What streams tell of their work."""

    def pushed(self, type_key: str, size: int) -> None:
        """A response of that many bytes was handed to the transport."""

    def acked(self, type_key: str, took: float) -> None:
        """A response was accepted after that many seconds."""

    def nacked(self, type_key: str, group: str) -> None:
        """A response was refused."""

    def sequencer_timeout(self, type_key: str) -> None:
        """A wait for a client's answer has run out."""

    def rejected(self, reason: str) -> None:
        """A request was answered with an error."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is taken: streams at a time, bytes of a request, names of a type, seconds of a connection.

    A connection that gets older is ended, so that clients spread anew over replicas; 0 means never. `request_rate`
    is a stream's requests a second, `silence` how many seconds it may stay open without a first request.
    """

    max_streams: int = 20_000
    max_request_bytes: int = 16 * 1024 * 1024
    max_names: int = 100_000
    max_connection_age: float = 0.0
    max_request_rate: int = 1_000
    silence: float = 60.0


class Departed:
    """What nodes may go on to act on after their stream has ended: references to shared typesets, per node.

    It counts in the group where it was seen: a node that comes in another one holds what that one has sent. And it
    counts for the identity that was proved, since anybody may say that it is any node.
    """

    def __init__(self) -> None:
        self._left: OrderedDict[tuple[str, str], tuple[str, Legacy]] = OrderedDict()

    def remember(self, identity: str, node: NodeInfo, legacy: Legacy) -> None:
        """Note what a stream left its node with."""
        self._left.pop((identity, node.id), None)
        self._left[identity, node.id] = (node.group, legacy)
        if len(self._left) > _DEPARTED_KEPT:
            self._left.popitem(last=False)

    def recall(self, identity: str, node: NodeInfo) -> Legacy:
        """What the node's last stream left it with; empty when nothing is known of it in this group."""
        group, legacy = self._left.get((identity, node.id), ("", NO_LEGACY))
        return legacy if group == node.group else NO_LEGACY


class Traces(Protocol):
    """Who follows a change to the nodes."""

    def answered(
        self, group: str, node: str, type_url: str, version: str, *, took: float, refusal: str | None = None
    ) -> None:
        """A node has answered a response of that version, `took` seconds after it was sent."""


@dataclass(frozen=True, slots=True)
class StreamContext:
    """Shared by all streams of a server."""

    groups: Groups
    tracker: Tracker
    meter: Meter
    waits: Waits = field(default_factory=Waits)
    limits: Limits = field(default_factory=Limits)
    parser: RequestParser = field(default_factory=RequestParser)
    departed: Departed = field(default_factory=Departed)
    grouping: Grouping = field(default_factory=Grouping)
    traces: Traces | None = None
