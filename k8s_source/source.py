"""The Kubernetes source: hands over what informers know of each kind, and every change of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from k8s_source.client.resource import DYNAMIC_GATEWAYS
from k8s_source.informer.informer import Informer
from k8s_source.informer.item import Change, Item, ItemKey
from k8s_source.kinds.items import Declared
from k8s_source.kinds.stated import Stated
from xds_server.ir.declared import Unit
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.base import Sink
from xds_server.sources.turns import Turns

NAME = "kubernetes"
"""The name of the source: there is one cluster at most."""

GATHER = 0.2
"""Seconds for which failures of kinds are gathered before they are told."""

Body = Declared | Stated
"""What an item's body is: of some kinds others want the status, which is no part of what is declared."""


class KubernetesSource:
    """The objects of some kinds, each a unit of its own.

    Nothing is handed over before every kind has been listed once, then all of it in one call: half a world never gets
    on. What can't be read any more stays, and is told.
    """

    name = kind = NAME

    def __init__(self, informers: Sequence[Informer[Declared] | Informer[Stated]]) -> None:
        self._informers = informers
        self._sink: Sink | None = None
        self._is_whole = False
        self._late: dict[str, Unit | None] | None = None
        """What has changed while the whole is made that is handed over first; None at other times."""
        self._failure: Problem | None = None
        self._telling: asyncio.TimerHandle | None = None
        for each in informers:
            each.follow(partial(self._changed, each.resource.kind), self._look)

    async def run(self, sink: Sink) -> None:
        """Hand over everything once all kinds are read, then each change, until cancelled."""
        self._sink, self._is_whole, self._late, self._failure = sink, False, None, None
        self._look()
        for each in self._informers:
            await each.synced.wait()
        await self._hand_over_all(sink)
        await asyncio.Event().wait()  # until cancelled; changes come by `_changed`

    async def _hand_over_all(self, sink: Sink) -> None:
        """Hand over what there is: what was at one moment, with what has changed while that was made."""
        items = [(each.resource.kind, item) for each in self._informers for item in each.store.items()]
        units: dict[str, Unit | None] = {}
        turns = Turns()
        late = self._late = dict[str, Unit | None]()
        for kind, item in items:
            units[_key(kind, item.key)] = _unit(kind, item)
            await turns.take()
        sink.replace([unit for unit in (units | late).values() if unit is not None])
        sink.synced()
        self._is_whole, self._late = True, None

    def objects(self) -> list[Object]:
        """All that is declared now; from any thread."""
        bodies = [_declared(item) for each in self._informers for item in list(each.store.items())]
        return [body for body in bodies if isinstance(body, Object)]

    def _changed(self, kind: str, changes: Sequence[Change[Body]]) -> None:
        if self._sink is None or not (self._is_whole or self._late is not None):
            return
        units = {_key(kind, each.key): _unit(kind, each.after) for each in changes if _is_told(kind, each)}
        if self._late is not None:
            self._late.update(units)
        elif units:
            removed = [key for key, unit in units.items() if unit is None]
            self._sink.replace([unit for unit in units.values() if unit is not None], removed)

    def _look(self) -> None:
        """A kind's condition has changed: have it told soon, since what ails one most often ails others too."""
        if self._sink is not None and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(GATHER, self._tell, self._sink)

    def _tell(self, sink: Sink) -> None:
        """Tell whether all kinds can be read; they are told as one failure."""
        self._telling = None
        failure = self._failure_now()
        if failure is not None and failure != self._failure:
            sink.failed(failure)
        elif failure is None and self._failure is not None:
            sink.recovered()
        self._failure = failure

    def _failure_now(self) -> Problem | None:
        failing = [each for each in self._informers if not each.condition.is_good and each.condition.error]
        if not failing:
            return None
        message = "; ".join(each.condition.error for each in failing)
        first = failing[0].resource
        return Problem(Origin(self.name, api_version=first.api_version, kind=first.kind), "NotReadable", message)


def _unit(kind: str, item: Item[Body] | None) -> Unit | None:
    """The unit of an object; None where it is gone.

    A gateway that is being deleted is: its finalizer keeps the object until Envoys have let go of it.
    """
    if item is None or (item.meta.deleted and kind == DYNAMIC_GATEWAYS.kind):
        return None
    key, declared = _key(kind, item.key), _declared(item)
    return Unit(key, objects=(declared,)) if isinstance(declared, Object) else Unit(key, problems=declared)


def _is_told(kind: str, change: Change[Body]) -> bool:
    """Whether a change is one of what is declared: those of a status, or of who wrote a field, are not."""
    return _unit(kind, change.before) != _unit(kind, change.after)


def _declared(item: Item[Body]) -> Declared:
    return item.body.declared if isinstance(item.body, Stated) else item.body


def _key(kind: str, key: ItemKey) -> str:
    return f"{kind}/{key}"
