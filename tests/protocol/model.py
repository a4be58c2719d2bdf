"""Model clients: what every client of xDS has in common. See `envoy_model` and `grpc_model` for the two forms.

A client is fed the bytes of responses and puts the bytes of its requests into queues, one for each type, since
it may hold back one type's request while others go on. It keeps what it holds across streams.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tests.protocol.contents import TYPES, Content
from tests.protocol.speech import Claims, Received, Speech, speech
from xds_server.stream.session import Variant
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, LISTENER, key_of


class Violation(AssertionError):  # noqa: N818 - it names what is broken
    """The server has broken a rule of the protocol, as far as this client can see."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was bad in a response, and whether the refusal names it."""

    bad: frozenset[str]
    named: bool


class Client(ABC):
    """What a client holds, what it has asked for, and what it has to say."""

    def __init__(self, name: str, variant: Variant, random: Random) -> None:
        self.name = name
        self.variant = variant
        self.random = random
        self.opening: deque[tuple[str, bytes]] = deque()
        self.outbox: dict[str, deque[bytes]] = {}
        self.order: deque[str] = deque()
        self.streams = 0
        self.mixed: set[str] = set()
        self.complaints: list[str] = []
        self.refusals: dict[str, Refusal] = {}
        self.losing: set[str] = set()
        self.lost: set[str] = set()
        self.speech: Speech = speech(variant)
        self.held: dict[str, dict[str, Content]] = {}
        self._version: dict[str, str] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self.reset()

    def reset(self) -> None:
        """Start as a new process: nothing is held."""
        self.mixed.clear()
        self.held = {url: {} for url in TYPES}
        self._version = dict.fromkeys(TYPES, "")
        self._versions = {url: {} for url in TYPES}

    def connect(self) -> None:
        """Begin a new stream; the first requests of what is already known go out in order."""
        self.streams += 1
        self.opening.clear()
        self.outbox = {url: deque() for url in TYPES}
        self.order.clear()
        self.refusals.clear()
        self.losing.clear()
        self.lost.clear()
        self.speech = speech(self.variant)
        self._begin()

    def receive(self, raw: bytes) -> Received:
        """Take a response in: apply what is good, answer."""
        received = self.speech.read(raw)
        error = self._apply(received)
        if error is None:
            self.mixed.discard(received.type_url)
            self._accept(received)
        else:
            self.mixed.add(received.type_url)
        self._answer(received, error)
        self._settle()
        return received

    def claims(self, url: str) -> Claims:
        """What the client says that it holds of a type."""
        return Claims(self._version[url], self._versions[url])

    def misclaimed(self) -> set[tuple[str, str]]:
        """The type URL and name of what is held in another content than is claimed (delta)."""
        held = {
            (url, each.name, Resource(each.name, url, each.body).version)
            for url, names in self.held.items()
            for each in names.values()
        }
        claimed = {(url, name, version) for url, names in self._versions.items() for name, version in names.items()}
        return {(url, name) for url, name, _ in held ^ claimed}

    @abstractmethod
    def faults(self, *, warm: bool) -> list[str]:
        """What is broken in what the client works with; `warm`: also what is known but can't be used yet."""

    @abstractmethod
    def _begin(self) -> None:
        """Ask for what is known at the beginning of a stream."""

    @abstractmethod
    def _apply(self, received: Received) -> str | None:
        """Take over what is good; the words of the refusal if something is not."""

    @abstractmethod
    def _settle(self) -> None:
        """Do what has become possible or due, subscriptions above all."""

    def _accept(self, received: Received) -> None:
        """Note what was accepted, to claim it on the next stream."""
        url = received.type_url
        self._version[url] = received.version
        self._versions[url].update(received.versions or {})
        self._unclaim(url, received.removed)

    def _complain(self, text: str) -> None:
        """Note that something in use was taken away."""
        self.complaints.append(text)

    def _unclaim(self, url: str, names: Iterable[str]) -> None:
        for name in names:
            self._versions[url].pop(name, None)

    def _answer(self, received: Received, error: str | None) -> None:
        """Say ACK or NACK, unless this answer is to be lost."""
        url = received.type_url
        if url in self.losing or url in self.lost:
            self.losing.discard(url)
            self.lost.add(url)
            return
        self._say(url, self.speech.answer(received, self.claims(url), error))

    def _say(self, url: str, raw: bytes) -> None:
        self.outbox[url].append(raw)
        self.order.append(url)

    def _open(self, url: str, names: frozenset[str] | None, *, at_once: bool) -> None:
        """Send a type's first request; `at_once` puts it in the order of the stream's beginning."""
        raw = self.speech.open(url, names, self.claims(url), star=self.random.random() < 0.5)
        if at_once:
            self.opening.append((url, raw))
        else:
            self._say(url, raw)

    def _want(self, url: str, names: frozenset[str], *, at_once: bool = False) -> None:
        """Ask for exactly these names of a type; what is asked for no more is dropped."""
        for name in [name for name in self.held[url] if name not in names]:
            del self.held[url][name]
        self._unclaim(url, [name for name in self._versions[url] if name not in names])
        if url not in self.speech.names:
            if names:
                self._open(url, names, at_once=at_once)
        elif self.speech.names[url] != names:
            self._say(url, self.speech.ask(url, names, self.claims(url)))

    def _gone(self, received: Received) -> list[str]:
        """The names that a response takes away from what is held."""
        held = self.held[received.type_url]
        if self.variant is Variant.DELTA:
            return [name for name in received.removed if name in held]
        if received.type_url not in (CLUSTER, LISTENER):
            return []
        there = {each.name for each in received.contents}
        return [name for name in held if name not in there]

    def __repr__(self) -> str:
        """Its name, and what it holds."""
        held = {key_of(url): sorted(names) for url, names in self.held.items()}
        return f"{self.name}({held})"
