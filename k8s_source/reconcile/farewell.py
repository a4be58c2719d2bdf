"""Deletions: an object goes once no Envoy has anything of it any more, or after a bounded time.

So it is with objects that leave what is watched, as their labels do not fit any more: they are served no more, and nobody
would be there to remove the finalizer when they are deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from k8s_source.informer.item import Item, ItemKey
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile import finalizer
from k8s_source.reconcile.happenings import Happening, Reason
from k8s_source.reconcile.ports import GatewayStates, Teller
from k8s_source.reconcile.status import read, withdrawn
from k8s_source.reconcile.writer import Writer
from k8s_source.workqueue.result import Result
from xds_server.ir.gateway import GatewayKey

_SOONEST = 0.1
_LATEST = 2.0
"""Seconds between two looks: as long as it has been waited already, within these."""

_LASTS = 2.0
"""Seconds of waiting that are worth an Event."""

_ACTION = "Deprogram"


@dataclass(slots=True)
class _Farewell:
    uid: str
    since: float
    is_told: bool = False


class Farewells:
    """The deletions that go on. Derivation has dropped these gateways already, on every replica; here it is waited."""

    def __init__(
        self,
        source: str,
        states: GatewayStates,
        writer: Writer,
        teller: Teller,
        *,
        limit: float,
        clock: Callable[[], float],
    ) -> None:
        """Wait for `limit` seconds at most, beginning when this process first saw the deletion as leader."""
        self._source = source
        self._states = states
        self._writer = writer
        self._teller = teller
        self._limit = limit
        self._clock = clock
        self._going: dict[ItemKey, _Farewell] = {}
        self._left: dict[ItemKey, Item[Stated]] = {}

    @property
    def leavers(self) -> Collection[ItemKey]:
        """The objects that have left and may still have our finalizer."""
        return self._left.keys()

    def left(self, item: Item[Stated]) -> None:
        """Note that an object is not watched any more; it can't be gone if our finalizer was on it."""
        if finalizer.is_held(item.meta) and not item.meta.deleted:
            self._left[item.key] = item

    def forget(self, key: ItemKey) -> None:
        """The object is gone, or none of ours to let go."""
        self._going.pop(key, None)
        self._left.pop(key, None)

    async def part(self, key: ItemKey) -> Result:
        """Let go of an object that is not watched: nothing to do where it is gone."""
        item = self._left.get(key)
        if item is not None:
            return await self.attend(item)
        self.forget(key)
        return Result()

    async def attend(self, item: Item[Stated]) -> Result:
        """Let an object go that is being deleted, or has left, as far as it depends on us; finalizers of others are left alone."""
        if not finalizer.is_held(item.meta):
            self.forget(item.key)
            return Result()
        now = self._clock()
        going = self._going.get(item.key)
        if going is None or going.uid != item.meta.uid:
            going = self._going[item.key] = _Farewell(item.meta.uid, now)
        waited = now - going.since
        if self._is_free(GatewayKey(*item.key)):
            await self._let_go(item, Happening(Reason.DEPROGRAMMED, "no Envoy has anything of it any more", _ACTION))
        elif waited >= self._limit:
            note = f"Envoys may still have what it made: they did not say otherwise within {self._limit:g} s"
            await self._let_go(item, Happening(Reason.NOT_DEPROGRAMMED, note, _ACTION, is_warning=True))
        else:
            return Result(self._wait(item, going, waited))
        return Result()

    def _is_free(self, key: GatewayKey) -> bool:
        """Whether Envoys have nothing of it; they never had of an object that another source's is in force for."""
        state = self._states.get(key)
        is_displaced = state is not None and state.origin.source != self._source
        return is_displaced or self._states.is_deprogrammed(key)

    async def _let_go(self, item: Item[Stated], happening: Happening) -> None:
        """The status of an object that stays nevertheless must not go on to say what was once so."""
        if item.key in self._left:
            item = await self._writer.look(item)
        if not finalizer.is_held(item.meta):
            self.forget(item.key)
            return
        if not item.meta.deleted or item.meta.finalizers != (finalizer.FINALIZER,):
            now = read(item.body.status)
            await self._writer.status(item, now, withdrawn(item.meta.generation, now, time.time()))
        await self._writer.remove_finalizer(item, happening.note)
        self.forget(item.key)
        self._teller.tell(item, happening)

    def _wait(self, item: Item[Stated], going: _Farewell, waited: float) -> float:
        if waited >= _LASTS and not going.is_told:
            going.is_told = True
            note = f"it waits until no Envoy has anything of it any more, for {self._limit:g} s at most"
            self._teller.tell(item, Happening(Reason.DEPROGRAMMING, note, _ACTION))
        return min(max(waited, _SOONEST), _LATEST, self._limit - waited)
