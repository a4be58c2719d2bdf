"""An informer's part in one namespace: takes what its reflector reads into the store, and knows how well that goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import structlog

from k8s_source.informer.condition import Condition, Phase
from k8s_source.informer.item import Change, Item, ItemKey
from k8s_source.informer.store import Store, is_same
from k8s_source.informer.target import View
from k8s_source.informer.wire import Found

_log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")


class Part(Generic[T]):
    """A reflector's target. `changed` gets what has changed, `noted` is called when the condition has."""

    def __init__(
        self,
        view: View,
        store: Store[T],
        parse: Callable[[bytes], T],
        changed: Callable[[Sequence[Change[T]]], None],
        noted: Callable[[], None],
    ) -> None:
        self.view = view
        self.condition = Condition(Phase.LISTING, time.time())
        self.last_heard = time.monotonic()
        self.is_read = False
        self._store, self._parse, self._changed, self._noted = store, parse, changed, noted

    def item(self, found: Found) -> Item[T] | None:
        """The item of an object; of one that has not changed the item that is known."""
        known = self._store.get(found.key)
        if known is not None and is_same(known.meta, found.meta):
            return known
        try:
            return Item(found.key, found.meta, self._parse(found.body))
        except Exception:  # noqa: BLE001 - a kind's parser is not to end the watch of the others
            _log.exception("a Kubernetes object can't be taken", resource=self.view.kind, object=str(found.key))
            return known

    def replace(self, items: Mapping[ItemKey, Item[T]]) -> None:
        """Take a whole list."""
        self.is_read = True
        self._changed(self._store.replace(self.view.namespace, items))

    def put(self, item: Item[T]) -> None:
        """Take a new or a changed object."""
        self._changed(self._store.put(item))

    def remove(self, found: Found) -> None:
        """Let go of an object."""
        self._changed(self._store.remove(found.key, found.meta.uid))

    def heard(self) -> None:
        """Remember when the API server last gave a sign of life."""
        self.last_heard = time.monotonic()

    def told(self, phase: Phase, error: str = "") -> None:
        """Take the condition; it is logged when its phase changes, not with each try."""
        if phase is Phase.ABSENT:
            self.is_read = True
            if self._holds_any:
                # What was deleted with its kind has been told as deleted. What was not is not gone.
                phase, error = Phase.STALE, f"{self.view.where}: no such kind any more; its objects stay as they were"
        before = self.condition
        if (before.phase, before.error) == (phase, error):
            return
        since = before.since if before.phase is phase else time.time()
        self.condition = Condition(phase, since, error)
        if before.phase is not phase:
            self._log_change(before)
        self._noted()

    @property
    def _holds_any(self) -> bool:
        namespace = self.view.namespace
        return any(namespace in {"", item.key.namespace} for item in self._store.items())

    def _log_change(self, before: Condition) -> None:
        now = self.condition
        told = {"resource": self.view.kind, "namespace": self.view.namespace or "*"}
        if now.error:
            _log.warning("Kubernetes objects may be out of date", phase=now.phase.value, error=now.error, **told)
        elif now.phase is Phase.ABSENT:
            _log.info("the API server has no such kind; it is taken up when it is installed", **told)
        elif before.phase in {Phase.STALE, Phase.FORBIDDEN, Phase.ABSENT}:
            _log.info("Kubernetes objects are up to date again", **told)
