"""A fleet: a random world, its clients, their sessions, and the steps by which all of it moves.

The same steps serve the seeded walker (volume) and hypothesis (shrinking). Time is a number here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from tests.protocol.contents import TYPES
from tests.protocol.envoy_model import EnvoyModel
from tests.protocol.grpc_model import GrpcModel
from tests.protocol.ledger import Ledger
from tests.protocol.model import Client, Violation
from tests.protocol.world import World
from xds_server.stream.handover import NO_LEGACY
from xds_server.stream.session import Session, Variant
from xds_server.wire.request import Request, RequestParser
from xds_server.wire.response import Response
from xds_server.wire.types import CLUSTER, ROUTE, key_of

PROMPT = 0.45
"""In a prompt fleet no message is on its way for longer (s), so no wait of the server may run out."""

Kind = tuple[type[Client], Variant]

_TRACE = 3000
_PARSER = RequestParser()


class Link:
    """One client, its stream, and what is on the way to it; `ordered` requests arrive as they were made."""

    def __init__(self, client: Client, world: World, trace: deque[str], *, ordered: bool) -> None:
        self.client = client
        self._ordered = ordered
        self.trusting = True
        self.mixed: set[str] = set()
        self.misclaimed: set[tuple[str, str]] = set()
        self._quiet = self._began = 0.0
        self._world = world
        self._trace = trace
        self.inbox: deque[tuple[float, Response, bool]] = deque()
        self.since: dict[str, deque[float]] = {}
        self.session = Session(client.variant)
        self.ledger = Ledger(client.variant)

    def connect(self, now: float, *, remembered: bool = True) -> None:
        """Open a new stream; `remembered` means that the server knows what the stream before it left."""
        before = self.session.legacy() if remembered else NO_LEGACY
        lookup = self._world.lookup if remembered else (lambda _url, _version: None)
        self.session = Session(self.client.variant, before=before, lookup=lookup)
        self.ledger = Ledger(self.client.variant, self.ledger if remembered else None)
        # Nobody but the server that sent it knows what a client has applied in part.
        is_delta = self.client.variant is Variant.DELTA
        self.mixed = set() if remembered or is_delta else set(self.client.mixed)
        self.misclaimed = set() if remembered or not is_delta else self.client.misclaimed()
        self.inbox.clear()
        self._quiet = self._began = now
        self.client.connect()
        self._send(self.session.publish(self._world.snapshot, now), now)

    def publish(self, now: float) -> None:
        """Hand the newest snapshot to the session."""
        self.ledger.published(self._world.snapshot)
        self._send(self.session.publish(self._world.snapshot, now), now)

    def tick(self, now: float) -> None:
        """Let the session see the time, if it wants to."""
        if CLUSTER not in self.ledger.types and now >= self._began + self.session._waits.order:
            # An Envoy that asks for its clusters so late gets what needs them before.
            self.trusting = False
        if self.session.deadline is not None and self.session.deadline <= now:
            self._send(self.session.tick(now), now)

    def talking(self) -> list[str]:
        """The types of which the client has something to say."""
        return [url for url, queue in self.client.outbox.items() if queue]

    def to_server(self, now: float, random: Random) -> bool:
        """Deliver one request; those of a stream's beginning in their order, others perhaps in any order of types."""
        client = self.client
        if client.opening:
            url, raw = client.opening.popleft()
        elif talking := self.talking():
            url = client.order[0] if self._ordered else random.choice(talking)
            client.order.remove(url)
            raw = client.outbox[url].popleft()
        else:
            return False
        request = self._parse(raw)
        self._say(f"-> {request}")
        responses = self.session.receive(request, now)
        source = self._world.snapshot.typeset(request.type_url)
        nack = self.session.states[request.type_url].last_nacked
        suspects = nack.refused if nack is not None and nack.mark.nonce == request.nonce else frozenset()
        self.ledger.requested(request, client.refusals.get(request.nonce), suspects, source)
        self._send(responses, now)
        return True

    def to_client(self, now: float) -> bool:
        """Deliver one response, and look at what the client works with then."""
        if not self.inbox:
            return False
        _, response, informed = self.inbox.popleft()
        received = self.client.receive(response.message)
        self._say(f"<- {key_of(received.type_url)} {received.nonce} {[each.name for each in received.contents]}")
        self.look(now, informed=informed)
        return True

    def look(self, now: float, *, informed: bool) -> None:
        """Check that nothing dangles, as strictly as allow the silence of the client and what the server could know."""
        if not (self.inbox or self.client.opening or self.talking() or self.ledger.is_waiting()):
            self._quiet = now
        silence = now - self._quiet
        late = silence >= self.session._waits.order and bool(self.client.refusals or self.client.mixed)
        if late or silence >= self.session._waits.removal:
            # The server's waits have run out, so it may have gone on before it heard of a refusal, or at all.
            self.trusting = False
        complaints, self.client.complaints = self.client.complaints, []
        if self.trusting:
            faults = complaints if informed else []
            if informed or self._ordered:
                faults = faults + self.client.faults(warm=silence < self.session._waits.order)
            if faults:
                raise Violation(f"{self.client.name}: {faults}")

    def age(self, now: float) -> float:
        """For how long the oldest message to the client has been on its way."""
        return now - self.inbox[0][0] if self.inbox else 0.0

    def _send(self, responses: list[Response], now: float) -> None:
        for response in responses:
            received = self.client.speech.read(response.message)
            self._say(f"   {key_of(response.type_url)} {response.nonce} {dict(response.changes)}")
            source = self._world.snapshot.typeset(response.type_url)
            self.ledger.responded(response, received, source)
            # While requests are on their way the server can't know what the client uses.
            self.inbox.append((now, response, not self.talking()))

    def _parse(self, raw: bytes) -> Request:
        if self.client.variant is Variant.SOTW:
            return _PARSER.sotw(raw)[0]
        return _PARSER.delta(raw)[0]

    def _say(self, text: str) -> None:
        self._trace.append(f"{self.client.name} {text}")


class Fleet:
    """A world and some clients; `prompt` clients answer in time, others may fall silent."""

    def __init__(self, random: Random, kinds: Sequence[Kind], *, prompt: bool, ordered: bool, bad: float) -> None:
        """Begin with a stream for each client; `bad` is the share of contents that clients refuse."""
        self.random = random
        self.now = 1000.0
        self.prompt = prompt
        self.trace: deque[str] = deque(maxlen=_TRACE)
        self.world = World(random, bad=bad)
        clients = [kind(f"{kind.__name__}{n}:{variant}", variant, random) for n, (kind, variant) in enumerate(kinds)]
        self.links = [Link(client, self.world, self.trace, ordered=ordered) for client in clients]
        for link in self.links:
            link.connect(self.now)

    def step(self) -> None:
        """Do one random thing."""
        kind = self.random.choices(_STEPS, _WEIGHTS)[0]
        link = self.random.choice(self.links)
        if kind == "to_server":
            link.to_server(self.now, self.random)
        elif kind == "to_client":
            link.to_client(self.now)
        elif kind == "publish":
            self.publish()
        elif kind == "wait":
            self.wait(self.random.choice((0.01, 0.1, 0.3) if self.prompt else (0.1, 1.0, 3.0, 6.0, 16.0)))
        elif kind == "upset":
            self.upset(link)

    def publish(self) -> None:
        """Change the world, and tell everybody."""
        self.world.change()
        self._tell()

    def wait(self, seconds: float) -> None:
        """Let time pass. In a prompt fleet all that would be late is delivered first."""
        if self.prompt:
            for link in self.links:
                while link.age(self.now + seconds) > PROMPT or (link.client.opening or link.talking()):
                    if not (link.to_server(self.now, self.random) or link.to_client(self.now)):
                        break
        self.now += seconds
        self.trace.append(f"time {self.now:.2f}")
        for link in self.links:
            link.tick(self.now)

    def upset(self, link: Link) -> None:
        """A stream breaks, a client starts anew, a server does, an answer is lost, a channel goes idle."""
        roll = self.random.random()
        if roll < 0.35:
            self.trace.append(f"{link.client.name} reconnects")
            link.connect(self.now)
        elif roll < 0.5:
            self.trace.append(f"{link.client.name} restarts")
            link.client.reset()
            link.trusting = True
            link.connect(self.now, remembered=self.random.random() < 0.5)
        elif roll < 0.6:
            self.restart()
        elif isinstance(link.client, GrpcModel):
            self.trace.append(f"{link.client.name} retargets")
            link.client.retarget()
        elif not self.prompt:
            url = self.random.choice(TYPES)
            self.trace.append(f"{link.client.name} will lose an answer for {key_of(url)}")
            link.client.losing.add(url)

    def restart(self) -> None:
        """The server starts anew: equal content, nothing remembered, so clients may miss what they still use."""
        self.trace.append("the server restarts")
        self.world.restart()
        for link in self.links:
            link.trusting = False
            link.connect(self.now, remembered=False)

    def drain(self) -> None:
        """Deliver all, let the waits end, and check that everybody has arrived."""
        for link in self.links:
            if link.client.lost or link.client.losing:
                self.trace.append(f"{link.client.name} reconnects")
                link.connect(self.now)
        for _ in range(20):
            self._deliver_all()
            if self._run_out():
                continue
            ends = [link.session.deadline for link in self.links if link.session.deadline is not None]
            if not ends:
                break
            self.now = max(self.now, min(ends))
            self.trace.append(f"time {self.now:.2f}")
            for link in self.links:
                link.tick(self.now)
        for link in self.links:
            Arrival(link, self.world).check(self.now)
            # A server that was restarted never learns of what a client goes on using because it refuses the rest.
            link.trusting = link.trusting or not link.ledger.refused_any()

    def _run_out(self) -> bool:
        """Let Envoys that wait for what is nowhere, or was lost with an earlier stream, wait to the end."""
        moved = False
        for link in self.links:
            client = link.client
            if isinstance(client, EnvoyModel) and client.is_warming:
                for url, name, here in client.stuck():
                    source = self.world.snapshot.typeset(url)
                    if here and name in source and not link.ledger.refused(source, name):
                        raise Violation(f"{client.name}: clusters wait for {key_of(url)} {name}, which does not come")
                self.trace.append(f"{client.name} runs out of patience")
                client.run_out()
                moved = True
        return moved

    def _deliver_all(self) -> None:
        for link in self.links:
            for count in range(2000):
                if not (link.to_server(self.now, self.random) or link.to_client(self.now)):
                    break
                if count == 1999:
                    raise Violation(f"{link.client.name}: there is no end to it")

    def _tell(self) -> None:
        self.trace.append(f"publish {_describe(self.world)}")
        for link in self.links:
            link.publish(self.now)


class Arrival:
    """What must be true of a client when all is delivered and answered."""

    def __init__(self, link: Link, world: World) -> None:
        self._link = link
        self._client = link.client
        self._world = world

    def check(self, now: float) -> None:
        """Check one client; what it refused, and what waits for that, may differ from the world."""
        client, session = self._client, self._link.session
        if isinstance(client, EnvoyModel) and client.is_warming:
            raise Violation(f"{client.name}: clusters warm for ever: {client!r}")
        waiting = [key_of(url) for url, state in session.states.items() if state.pending]
        if waiting:
            raise Violation(f"{client.name}: {waiting} are pending, though everything is answered")
        refused = self._link.ledger.refused_any()
        if not refused and not session.in_sync():
            raise Violation(f"{client.name}: is not in sync, though it refused nothing")
        for url in TYPES:
            self._compare(url, refused=refused)
        faults = client.faults(warm=True)
        if faults and self._link.trusting:
            raise Violation(f"{client.name}: {faults}")

    def _compare(self, url: str, *, refused: bool) -> None:
        entry = self._link.ledger.types.get(url)
        if entry is None or url in self._link.mixed & self._client.mixed:
            return
        source = self._world.snapshot.typeset(url)
        held = self._client.held[url]
        misclaimed = self._link.misclaimed and self._link.misclaimed & self._client.misclaimed()
        for name, resource in source.resources.items():
            if entry.covers(name) and (name not in held or held[name].body != resource.body):
                if (refused and self._excused(url, name)) or (url, name) in misclaimed:
                    continue
                raise Violation(f"{self._client.name}: {key_of(url)} {name} is not what is declared")
        extra = sorted(name for name in held if name not in source and (url, name) not in misclaimed)
        if extra and not refused:
            raise Violation(f"{self._client.name}: {key_of(url)} {extra} are not declared")

    def _excused(self, url: str, name: str) -> bool:
        """Whether a content was refused, alone or with others, or waits for a cluster that was."""
        source = self._world.snapshot.typeset(url)
        if self._link.ledger.refused(source, name):
            return True
        resource = source.resources[name]
        clusters = set(resource.refs.clusters)
        for route in resource.refs.routes:
            found = self._world.state[ROUTE].get(route)
            clusters |= found.refs.clusters if found else frozenset()
        known = self._client.held[CLUSTER]
        declared = self._world.snapshot.typeset(CLUSTER)
        return any(each not in known or self._link.ledger.refused(declared, each) for each in clusters)


def _describe(world: World) -> str:
    parts = []
    for names in world.state.values():
        for each in names.values():
            refs = [*each.refs.clusters, *each.refs.routes, *each.refs.assignments, *each.refs.secrets]
            parts.append(f"{each.name}.{each.content}{'!' if each.bad else ''}>{','.join(sorted(refs))}")
    return " ".join(parts)


_STEPS = ("to_server", "to_client", "publish", "wait", "upset")
_WEIGHTS = (40, 40, 6, 4, 1)
