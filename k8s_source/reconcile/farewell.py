"""Deletions: an object goes once no Envoy has anything of it any more, or after a bounded time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from k8s_source.informer.item import Item, ItemKey
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile import finalizer
from k8s_source.reconcile.happenings import Happening, Reason
from k8s_source.reconcile.ports import GatewayStates, Teller
from k8s_source.reconcile.writer import Writer
from k8s_source.work.result import Result
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

    def forget(self, key: ItemKey) -> None:
        """The object is gone."""
        self._going.pop(key, None)

    async def attend(self, item: Item[Stated]) -> Result:
        """Let an object go that is being deleted, as far as it depends on us; finalizers of others are left alone."""
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
        await self._writer.remove_finalizer(item, happening.note)
        self.forget(item.key)
        self._teller.tell(item, happening)

    def _wait(self, item: Item[Stated], going: _Farewell, waited: float) -> float:
        if waited >= _LASTS and not going.is_told:
            going.is_told = True
            note = f"it waits until no Envoy has anything of it any more, for {self._limit:g} s at most"
            self._teller.tell(item, Happening(Reason.DEPROGRAMMING, note, _ACTION))
        return min(max(waited, _SOONEST), _LATEST, self._limit - waited)
