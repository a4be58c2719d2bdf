"""The informer: one kind, kept up to date in a store, for any number of followers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from k8s_source.client.resource import Resource
from k8s_source.informer.condition import Condition, worst
from k8s_source.informer.item import Change
from k8s_source.informer.part import Part
from k8s_source.informer.reflector import Reflector
from k8s_source.informer.store import Store
from k8s_source.informer.target import Tools, View

_log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")

Handler = Callable[[Sequence[Change[T]]], None]


def _nothing() -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class _Follower(Generic[T]):
    handler: Handler[T]
    noted: Callable[[], None]


class Informer(Generic[T]):
    """A kind in all namespaces or in some, with one watch for each of these.

    `parse` makes the body of an item from an object's whole JSON; what is wrong with the object is part of its answer.
    An error that it raises is a fault of the program: it is logged, and the object stays as it was last known.
    """

    def __init__(
        self,
        resource: Resource,
        parse: Callable[[bytes], T],
        tools: Tools,
        *,
        namespaces: Sequence[str] = (),
        labels: str = "",
        fields: str = "",
    ) -> None:
        self.resource = resource
        self.parse = parse
        self.store: Store[T] = Store()
        self.synced = asyncio.Event()
        """Set when everything has been read once; a kind that is absent is read and empty."""
        within = tuple(namespaces) if resource.namespaced and namespaces else ("",)
        views = [View(resource, each, labels, fields) for each in within]
        self._parts = [Part(view, self.store, parse, self._changed, self._noted) for view in views]
        self._tools = tools
        self._followers: list[_Follower[T]] = []
        self._pending: list[Change[T]] = []

    @property
    def kind(self) -> str:
        """As RBAC names it: `endpointslices.discovery.k8s.io`."""
        return self._parts[0].view.kind

    @property
    def condition(self) -> Condition:
        """How well it is followed, where it goes worst."""
        return worst(part.condition for part in self._parts)

    @property
    def silence(self) -> float:
        """Seconds since the API server last gave a sign of life, where that is longest."""
        return time.monotonic() - min(part.last_heard for part in self._parts)

    def follow(self, handler: Handler[T], noted: Callable[[], None] = _nothing) -> None:
        """Call `handler` with all that is there, at once, then with each batch of changes; `noted` when the condition changes.

        Both are called on the event loop and must be quick.
        """
        self._flush()
        self._followers.append(_Follower(handler, noted))
        if len(self.store):
            self._call(handler, [Change(item.key, None, item) for item in self.store.items()])

    async def run(self) -> None:
        """Read and follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in self._parts:
                group.create_task(Reflector(part.view, part, self._tools).run(), name=f"watch {part.view.where}")

    def _changed(self, changes: Sequence[Change[T]]) -> None:
        """Hand changes on, together with those that come in the same turn of the event loop."""
        if changes and not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending += changes

    def _noted(self) -> None:
        """A part's condition has changed; before that, all that it has read is handed over."""
        self._flush()
        if not self.synced.is_set() and all(part.is_read for part in self._parts):
            self.synced.set()
        for follower in tuple(self._followers):
            self._call(follower.noted)

    def _flush(self) -> None:
        changes, self._pending = self._pending, []
        if changes:
            for follower in tuple(self._followers):
                self._call(follower.handler, changes)

    def _call(self, told: Callable[..., None], *args: object) -> None:
        try:
            told(*args)
        except Exception:  # noqa: BLE001 - the boundary to followers: one of them must not take from the others
            _log.exception("a follower of Kubernetes objects has failed", kind=self.kind)
