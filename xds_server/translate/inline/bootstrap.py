"""Puts resources into a static bootstrap: inlined as far as they can be, with users made for what nothing uses.

Envoy looks in this mode at what is in the bootstrap only, and follows no config source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any as Anything

from xds_server.translate.inline import stand_ins
from xds_server.translate.inline.edits import ALONE, Find, Inlining, LocalError
from xds_server.translate.messages import parse, rewrite
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SCOPED_ROUTE, SECRET

__all__ = ["Find", "Static", "Unchecked", "inline"]

_INTERNAL = "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """What Envoy will not look at: the resource (or a part of it), and why."""

    type_url: str
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Static:
    """A bootstrap as bytes (it holds private keys), and what of the resources it does not cover."""

    body: bytes
    unchecked: tuple[Unchecked, ...]


def inline(resources: Iterable[Resource], find: Find) -> Static:
    """A static bootstrap with these resources; `find` gives those that they name."""
    work = _Work(find)
    given = {(each.type_url, each.name): each for each in resources}
    for url in (LISTENER, CLUSTER):
        for resource in given.values():
            if resource.type_url == url:
                work.add(resource)
    for key, resource in given.items():
        if key[0] not in (LISTENER, CLUSTER) and key not in work.used:
            work.add(resource)
    return work.finish()


class _Work:
    """One bootstrap in the making."""

    def __init__(self, find: Find) -> None:
        self.used: set[tuple[str, str]] = set()
        self._find = find
        self._bootstrap: Anything = stand_ins.new("envoy.config.bootstrap.v3.Bootstrap")
        self._clusters: set[str] = set()
        self._secrets: dict[str, Anything] = {}
        self._unchecked: list[Unchecked] = []

    def add(self, resource: Resource) -> None:
        """Put a resource into the bootstrap, or note why it is not checked."""
        inlining = Inlining(self._find)
        made: list[Anything] = []
        try:
            message = parse(resource.type_url, resource.body)
            made += [] if message is None else _carriers(resource, message)
            for each in made:
                rewrite(each, inlining.edit)
        except LocalError as error:
            self._note(resource, str(error))
            return
        if not made:
            self._note(resource, "nothing in a bootstrap takes this by itself")
        for why in sorted(inlining.notes):
            self._note(resource, why)
        self._take(made, inlining)

    def finish(self) -> Static:
        """The bootstrap with all that Envoy wants besides."""
        static = self._bootstrap.static_resources
        here = {cluster.name for cluster in static.clusters}
        for name in sorted({ALONE, *self._clusters} - here):
            static.clusters.append(stand_ins.empty_cluster(name))
        static.secrets.extend(self._secrets[name] for name in sorted(self._secrets))
        self._bootstrap.node.id = self._bootstrap.node.cluster = ALONE
        extension = self._bootstrap.bootstrap_extensions.add(name="envoy.bootstrap.internal_listener")
        extension.typed_config.type_url = _INTERNAL
        return Static(self._bootstrap.SerializeToString(deterministic=True), tuple(self._unchecked))

    def _take(self, made: Iterable[Anything], inlining: Inlining) -> None:
        static = self._bootstrap.static_resources
        for each in made:
            is_listener = each.DESCRIPTOR.name == "Listener"
            (static.listeners if is_listener else static.clusters).append(each)
        self.used |= inlining.used
        self._clusters |= inlining.clusters
        self._secrets |= inlining.secrets

    def _note(self, resource: Resource, why: str) -> None:
        self._unchecked.append(Unchecked(resource.type_url, resource.name, why))


def _carriers(resource: Resource, message: Anything) -> Iterator[Anything]:
    """The listeners and clusters by which a resource gets into a bootstrap; none for a type without a place there."""
    if resource.type_url == LISTENER and message.HasField("api_listener"):
        raise LocalError("an API listener is for clients of gRPC, not for Envoy")
    if resource.type_url in (LISTENER, CLUSTER):
        yield message
        return
    make = _STAND_INS.get(resource.type_url)
    if make is not None:
        yield from make(message)


_STAND_INS: dict[str, Callable[[Anything], Iterable[Anything]]] = {
    ROUTE: stand_ins.of_routes,
    SCOPED_ROUTE: stand_ins.of_scope,
    ENDPOINT: stand_ins.of_assignment,
    SECRET: stand_ins.of_secret,
}
