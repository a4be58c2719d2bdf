"""Replicas: what the others have told of their Envoys, and of whom nothing is known. Without a clock, without I/O.

A replica is expected for as long as its address is known. What it told last counts for how far a group has come only while
it answers; for quotas it counts until its address is gone, since too many counted let too little through, never too much.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from xds_server.ir.facts import Conclusion, RouteKey
from xds_server.status.share import NOTHING, Refusal, Share

Opinions = Mapping[RouteKey, Conclusion | None]

Told = Callable[[Iterable[str] | None], None]
"""Takes the groups of which others tell something new; None stands for all."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a replica tells: all of its groups and routes (`whole`), or those in which something has changed.

    `opinions` are what it goes by for routes that watch something, None for one of which it says nothing any more.
    `instance` is made anew by each process, `started` (POSIX seconds) is when it began. `leaving` is told last by a process
    that ends in order: its Envoys have gone elsewhere.
    """

    replica: str
    instance: str
    started: float
    seq: int
    whole: bool
    shares: Mapping[str, Share]
    opinions: Opinions = field(default_factory=dict)
    leader: bool = False
    leaving: bool = False


class Standing(StrEnum):
    """How it stands with an address."""

    UNHEARD = "unheard"
    HEARD = "heard"
    LEFT = "left"
    OURSELVES = "ourselves"


@dataclass(slots=True)
class Peer:
    """What is behind one address: `name` is that of the address until it has told its own; `problem` says why it is unheard.

    `listed` is the name under which it was listed. `is_starting` tells that whoever lists it knows it not to be ready, `is_down` that nothing listens there.
    """

    name: str
    standing: Standing = Standing.UNHEARD
    problem: str = "it has not been asked yet"
    report: Report | None = None
    shares: dict[str, Share] = field(default_factory=dict)
    opinions: dict[RouteKey, Conclusion] = field(default_factory=dict)
    listed: str = ""
    is_starting: bool = False
    is_down: bool = False

    @property
    def is_unheard(self) -> bool:
        """Whether nothing is known of it: it may have Envoys. One that is about to start for the first time has none."""
        is_to_come = self.is_starting and self.is_down and self.report is None
        return self.standing is Standing.UNHEARD and not is_to_come


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """How far a group has come on the other replicas.

    `replicas` counts those that answer. A node counts as `acked` where its replica serves the version that is asked about.
    `lagging` names the replicas with nodes and another version, `unheard` those of which nothing is known now, and why.
    """

    replicas: int = 0
    connected: int = 0
    acked: int = 0
    nacked: int = 0
    refusal: tuple[str, Refusal] | None = None
    lagging: tuple[str, ...] = ()
    unheard: tuple[tuple[str, str], ...] = ()


class Replicas:
    """The other replicas, by the addresses at which they are asked."""

    def __init__(self, instance: str, started: float = 0.0) -> None:
        """Begin with none; `instance` is that of this process, which began at `started` (POSIX seconds)."""
        self._instance = instance
        self._age = (started, instance)
        self._followed: dict[RouteKey, Conclusion] = {}
        self._knows: Callable[[RouteKey], bool] = lambda _route: True
        self._guided: Callable[[Opinions], None] = lambda _opinions: None
        self._peers: dict[str, Peer] = {}
        self._unlisted = ""
        self._is_listed = False
        self._followers: list[Told] = []
        self._alarmed: list[Callable[[], None]] = []

    def follow(self, told: Told) -> None:
        """Have a function told of what has changed; it must be quick."""
        self._followers.append(told)

    def follow_losses(self, alarmed: Callable[[], None]) -> None:
        """Have a function told before the Envoys of a replica cease to count that has gone or begins anew."""
        self._alarmed.append(alarmed)

    def guide(self, guided: Callable[[Opinions], None], knows: Callable[[RouteKey], bool]) -> None:
        """Have `guided` told what to go by for routes; None: by oneself. `knows` tells whether a route's value is known here.

        All go by the replica that has run longest of those who know the value.
        """
        self._guided, self._knows = guided, knows

    @property
    def peers(self) -> Mapping[str, Peer]:
        """What is behind each address."""
        return self._peers

    @property
    def names(self) -> list[str]:
        """The names of the others, sorted."""
        others = (Standing.UNHEARD, Standing.HEARD)
        return sorted({peer.name for peer in self._peers.values() if peer.standing in others})

    @property
    def is_alone(self) -> bool:
        """Whether there is nobody to ask: not even addresses that might come."""
        return not self._peers and not self._unlisted

    def unlisted(self, problem: str) -> None:
        """Note that it is not known who there is, and why; "" once it is."""
        if self._unlisted != problem:
            self._unlisted = problem
            self._tell(None)

    def expect(self, addresses: Mapping[str, str], starting: Collection[str] = ()) -> None:
        """Take the addresses that there are, with the names by which they are known until they have told their own.

        `starting` are those of them that are not ready. One that joins others is taken for down until it was asked.
        """
        before, were_unheard = self._peers, self.unheard
        stay = {address: peer for address, peer in before.items() if addresses.get(address) == peer.listed}
        gone = [peer for address, peer in before.items() if address not in stay and peer.report is not None]
        if any(not peer.report.leaving for peer in gone if peer.report is not None):
            self._alarm()
        self._peers = {
            address: stay.get(address) or Peer(name, listed=name, is_down=self._is_listed)
            for address, name in addresses.items()
        }
        self._is_listed = True
        for address, peer in self._peers.items():
            peer.is_starting = address in starting
        if self._peers.keys() != before.keys() or len(stay) < len(before) or self.unheard != were_unheard:
            self._tell(None)
            self.reconsider()

    def take(self, address: str, report: Report) -> None:
        """Take in what the replica at an address tells."""
        peer = self._peers.get(address)
        if peer is None:
            return
        was, before = peer.standing, peer.report
        if report.instance == self._instance:
            self._peers[address] = Peer(report.replica, Standing.OURSELVES, listed=peer.listed)
            self._tell(None)
            return
        peer.name, peer.report, peer.problem = report.replica, report, ""
        peer.standing = Standing.LEFT if report.leaving else Standing.HEARD
        began_anew = before is not None and before.instance != report.instance
        if began_anew or (report.leaving and was is not Standing.LEFT):
            self._alarm()
        if report.whole:
            peer.shares = {}
        for group, share in report.shares.items():
            if share != NOTHING:
                peer.shares[group] = share
            else:
                peer.shares.pop(group, None)
        if report.whole:
            peer.opinions = {}
        for route, found in report.opinions.items():
            if found is not None:
                peer.opinions[route] = found
            else:
                peer.opinions.pop(route, None)
        is_news = report.whole or was is not peer.standing or before is None or before.leader is not report.leader
        self._tell(None if is_news else report.shares)
        self.reconsider(None if is_news else report.opinions)

    def lost(self, address: str, problem: str, *, is_down: bool = False) -> None:
        """Note that there is no answer at an address, and why; `is_down` that nothing listens there."""
        peer = self._peers.get(address)
        if peer is None or peer.standing in (Standing.LEFT, Standing.OURSELVES):
            return
        was, said = peer.standing, peer.problem
        was_unheard = peer.is_unheard
        peer.standing, peer.problem, peer.is_down = Standing.UNHEARD, problem, is_down
        if was is Standing.HEARD or said != problem or was_unheard is not peer.is_unheard:
            self._tell(None)
        if was is Standing.HEARD:
            self.reconsider()

    def elsewhere(self, group: str, version: str) -> Elsewhere:
        """How far a group has come on the others with a version."""
        heard = self._heard()
        shares = [(peer.name, peer.shares.get(group, NOTHING)) for peer in heard]
        same = [(name, share) for name, share in shares if share.version == version]
        return Elsewhere(
            len(heard),
            sum(share.connected for _, share in shares),
            sum(share.acked for _, share in same),
            sum(share.nacked for _, share in same),
            next(((name, share.refusal) for name, share in same if share.refusal is not None), None),
            tuple(name for name, share in shares if share.connected and share.version != version),
            self.unheard,
        )

    @property
    def unheard(self) -> tuple[tuple[str, str], ...]:
        """The replicas of which nothing is known now, and why."""
        nobody = (("", self._unlisted),) if self._unlisted else ()
        silent = [peer for peer in self._peers.values() if peer.is_unheard]
        return nobody + tuple((peer.name, peer.problem) for peer in silent)

    @property
    def is_guess(self) -> bool:
        """Whether there may be Envoys of which nobody has ever told."""
        unasked = any(peer.is_unheard and peer.report is None for peer in self._peers.values())
        return unasked or bool(self._unlisted)

    def envoys(self, group: str) -> int:
        """The Envoys of a group on the others, as they told last."""
        return sum(peer.shares[group].envoys for peer in self._counted() if group in peer.shares)

    def reconsider(self, routes: Iterable[RouteKey] | None = None) -> None:
        """Look anew what to go by for routes (None: all): somebody knows their values who did not, or does no more."""
        heard = sorted(self._heard(), key=_age)
        if not (heard or self._followed):
            return
        elder = [peer.opinions for peer in heard if _age(peer) < self._age]
        younger = [peer.opinions for peer in heard if _age(peer) > self._age]
        if routes is None:
            routes = self._followed.keys() | {route for opinions in (*elder, *younger) for route in opinions}
        changes: dict[RouteKey, Conclusion | None] = {}
        for route in routes:
            found = _first(route, elder)
            if found is None and not self._knows(route):
                found = _first(route, younger)
            if found != self._followed.get(route):
                changes[route] = found
        if changes:
            self._guide_by(changes)

    def _guide_by(self, changes: Opinions) -> None:
        for route, found in changes.items():
            if found is not None:
                self._followed[route] = found
            else:
                self._followed.pop(route, None)
        self._guided(changes)

    def _heard(self) -> list[Peer]:
        return [peer for peer in self._counted() if peer.standing is Standing.HEARD]

    def _counted(self) -> list[Peer]:
        """Those who told something, each process once though it may have two addresses: what it told last."""
        newest: dict[str, Peer] = {}
        for peer in self._peers.values():
            if peer.report is not None:
                known = newest.get(peer.report.instance)
                if known is None or _rank(known) < _rank(peer):
                    newest[peer.report.instance] = peer
        return list(newest.values())

    def _tell(self, groups: Iterable[str] | None) -> None:
        for told in self._followers:
            told(groups)

    def _alarm(self) -> None:
        for alarmed in self._alarmed:
            alarmed()


def _age(peer: Peer) -> tuple[float, str]:
    return (peer.report.started, peer.report.instance) if peer.report is not None else (inf, "")


def _first(route: RouteKey, opinions: Iterable[Mapping[RouteKey, Conclusion]]) -> Conclusion | None:
    return next((each[route] for each in opinions if route in each), None)


def _rank(peer: Peer) -> tuple[bool, int]:
    return peer.standing is Standing.HEARD, peer.report.seq if peer.report is not None else 0
