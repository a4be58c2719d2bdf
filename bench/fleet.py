"""A fleet in one process: sessions of the product and clients of the synthetic world, joined without a network."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.subscriber import Phrasebook, Subscriber, make_node
from xds_server.snapshot.groups import Group
from xds_server.snapshot.snapshot import Snapshot
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import Request, RequestParser
from xds_server.wire.response import Response


@dataclass(slots=True, eq=False)
class Member:
    """One node: its session, its client, and the responses that it has not answered yet."""

    session: Session
    client: Subscriber
    inbox: list[Response] = field(default_factory=list)


class Fleet:
    """Nodes of one group. A publish fills their inboxes; `answer` has them accept what they got."""

    def __init__(self, group: Group, mode: str, size: int) -> None:
        """Connect `size` nodes, and let them take everything that the group has."""
        self.parser = RequestParser()
        self.members: list[Member] = []
        book, variant = Phrasebook(mode), Variant(mode)
        for number in range(size):
            member = Member(Session(variant), Subscriber(book, make_node(number, group.name, 0)))
            self.members.append(member)
            group.watch(member, _listener(member))
            if group.current is not None:
                member.inbox.extend(member.session.publish(group.current, time.monotonic()))
            for request in member.client.start():
                self._take(member, request)
        while self.answer():
            pass

    def answer(self) -> int:
        """Have every node answer what it has received; how many responses that were."""
        answered = 0
        for member, requests in self.replies():
            answered += 1
            for request in requests:
                self._take(member, request)
        return answered

    def replies(self) -> list[tuple[Member, list[bytes]]]:
        """The requests by which the nodes answer what is in their inboxes, which are empty then."""
        found = []
        for member in self.members:
            inbox, member.inbox = member.inbox, []
            found += [(member, member.client.receive(response.message)[1]) for response in inbox]
        return found

    def take_all(self, replies: list[tuple[Member, list[bytes]]]) -> None:
        """Hand requests to the sessions, as bytes from the wire."""
        for member, requests in replies:
            for request in requests:
                self._take(member, request)

    def _take(self, member: Member, raw: bytes) -> None:
        parse = self.parser.sotw if member.session.variant is Variant.SOTW else self.parser.delta
        request: Request = parse(raw)[0]
        member.inbox.extend(member.session.receive(request, time.monotonic()))


def _listener(member: Member) -> Callable[[Snapshot], None]:
    def listen(snapshot: Snapshot) -> None:
        member.inbox.extend(member.session.publish(snapshot, time.monotonic()))

    return listen
