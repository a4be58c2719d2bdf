"""A talk with a session, without I/O and under virtual time: what is declared, asked and answered, in short words.

A resource is written `name=content`, with `>` and the names that it refers to, if any: assignments (cds), clusters
(rds), routes (lds). What the server says is written as `cds a=1 b=2 -c`: a type, contents, and what is removed.
A script is lines of `step -> what the server says`, several responses parted by `;`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from envoy.service.discovery.v3 import discovery_pb2

from xds_server.ir.refs import NO_REFS, Refs
from xds_server.snapshot.snapshot import Snapshot
from xds_server.snapshot.typeset import Typeset, empty
from xds_server.stream.handover import NO_LEGACY
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import DeltaRequest, ErrorDetail, Request, SotwRequest
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET, key_of

KEYS = ("cds", "lds", "eds", "rds", "sds")
URLS = {key_of(url): url for url in (CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET)}

_REFS: Mapping[str, Callable[[frozenset[str]], Refs]] = {
    "cds": lambda names: Refs(assignments=names),
    "rds": lambda names: Refs(clusters=names),
    "lds": lambda names: Refs(routes=names),
}

Said = list[str]


def declared(key: str, text: str) -> Resource:
    """A resource of that description; its content is its description."""
    head, _, used = text.partition(">")
    refs = _REFS[key](frozenset(used.split(","))) if used else NO_REFS
    return Resource(head.partition("=")[0], URLS[key], text.encode(), refs)


class Talk:
    """One client's side of a stream, which says what it is told to; time passes only by `wait`."""

    def __init__(self, variant: Variant, **types: str) -> None:
        """Begin a stream of a group that declares these things, by type."""
        self.variant = variant
        self.now = 0.0
        self.snapshot = Snapshot("g", 0, 0.0, {url: empty(url) for url in URLS.values()})
        self.session = Session(variant)
        self.names: dict[str, frozenset[str]] = {}
        self.version: dict[str, str] = {}
        self.held: dict[str, dict[str, str]] = {}
        self._unanswered: dict[str, list[Response]] = {}
        self.declare(**types)

    def play(self, script: str) -> None:
        """Take the steps of a script, and compare what the server says to each."""
        for line in filter(None, map(str.strip, script.splitlines())):
            step, _, expected = line.partition("->")
            assert "; ".join(self._step(*step.split())) == expected.strip(), line

    def declare(self, **types: str) -> Said:
        """Publish; these types hold exactly this from now on."""
        sets = dict(self.snapshot.types)
        for key, text in types.items():
            old = sets[URLS[key]]
            new = {each.name: each for each in (declared(key, word) for word in text.split())}
            sets[URLS[key]] = old.evolve({**dict.fromkeys(old.resources), **new})
        self.snapshot = Snapshot("g", self.snapshot.seq + 1, 0.0, sets)
        return self._said(self.session.publish(self.snapshot, self.now))

    def ask(self, key: str, *names: str, nonce: str = "") -> Said:
        """Ask for exactly these names, by a request that answers nothing, though it may carry a stale nonce."""
        wanted, claims = frozenset(names), {} if key in self.names else self.held.get(key, {})
        before = self.names.get(key, frozenset())
        self.names[key] = wanted
        if self.variant is Variant.DELTA:
            return self.send(DeltaRequest(URLS[key], wanted - before, before - wanted, claims, nonce))
        return self.send(SotwRequest(URLS[key], self.version.get(key, ""), wanted, nonce))

    def ack(self, key: str) -> Said:
        """Accept the oldest response that is not answered."""
        return self.send(self._answer(key, self._accept(key)))

    def lose(self, key: str) -> Said:
        """Accept it, but with an ACK that gets lost."""
        self._accept(key)
        return []

    def nack(self, key: str, text: str = "no") -> Said:
        """Refuse the oldest response that is not answered."""
        return self.send(self._answer(key, self._unanswered[key].pop(0), ErrorDetail(13, text)))

    def send(self, request: Request) -> Said:
        """Send any request."""
        return self._said(self.session.receive(request, self.now))

    def nonce(self, key: str) -> str:
        """That of the oldest response that is not answered."""
        return self._unanswered[key][0].nonce

    def settle(self) -> Said:
        """Accept all that comes until nothing comes; what came."""
        said: Said = []
        while waiting := [key for key, responses in self._unanswered.items() if responses]:
            said += self.ack(waiting[0])
        return said

    def wait(self, seconds: float) -> Said:
        """Let time pass; what the server says meanwhile."""
        end, said = self.now + seconds, list[str]()
        while self.session.deadline is not None and self.session.deadline <= end:
            self.now = self.session.deadline
            said += self._said(self.session.tick(self.now))
        self.now = end
        return said

    def reconnect(self, *, restarted: bool = False) -> Said:
        """Break the stream and begin a new one, of a server that was `restarted` meanwhile, or knows this client."""
        before = NO_LEGACY if restarted else self.session.legacy()
        self.session = Session(self.variant, before=before)
        self.names.clear()
        self._unanswered.clear()
        if restarted:
            sets = {url: Typeset(url, dict(each.resources)) for url, each in self.snapshot.types.items()}
            self.snapshot = Snapshot("g", 1, 0.0, sets)
        return self._said(self.session.publish(self.snapshot, self.now))

    def _step(self, verb: str, *words: str) -> Said:
        if verb == "declare":
            parts = " ".join(words).split("|")
            return self.declare(**{key: " ".join(rest) for key, *rest in map(str.split, parts)})
        if verb == "wait":
            return self.wait(float(words[0]))
        if verb in {"reconnect", "restart"}:
            return self.reconnect(restarted=verb == "restart")
        steps: Mapping[str, Callable[..., Said]] = {
            "ask": self.ask,
            "ack": self.ack,
            "nack": self.nack,
            "lose": self.lose,
        }
        return steps[verb](*words)

    def _accept(self, key: str) -> Response:
        response = self._unanswered[key].pop(0)
        self.version[key] = response.version
        held = self.held.setdefault(key, {})
        for name, version in response.changes.items():
            held.pop(name, None)
            held.update({name: version} if version else {})
        return response

    def _answer(self, key: str, response: Response, error: ErrorDetail | None = None) -> Request:
        if self.variant is Variant.DELTA:
            return DeltaRequest(URLS[key], nonce=response.nonce, error=error)
        return SotwRequest(URLS[key], self.version.get(key, ""), self.names[key], response.nonce, error)

    def _said(self, responses: Iterable[Response]) -> Said:
        said = []
        for response in responses:
            key = key_of(response.type_url)
            self._unanswered.setdefault(key, []).append(response)
            said.append(" ".join([key, *_words(self.variant, response.message)]))
        return said


def _words(variant: Variant, message: bytes) -> list[str]:
    if variant is Variant.SOTW:
        return sorted(each.value.decode() for each in discovery_pb2.DiscoveryResponse.FromString(message).resources)
    read = discovery_pb2.DeltaDiscoveryResponse.FromString(message)
    contents = sorted(each.resource.value.decode() for each in read.resources)
    return [*contents, *sorted(f"-{name}" for name in read.removed_resources)]
