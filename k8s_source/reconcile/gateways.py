"""Reconciles DynamicGateways: status, finalizer, Events. It never decides what is served; it tells.

Each time whole: what is there (the informer's object), what should be (what is known of the gateway), what differs. So it
may be run any number of times, after whatever was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from k8s_source.informer.item import Item, ItemKey
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile import finalizer
from k8s_source.reconcile.displaced import displaced
from k8s_source.reconcile.farewell import Farewells
from k8s_source.reconcile.happenings import Happening, Reason, happenings
from k8s_source.reconcile.memory import Memory
from k8s_source.reconcile.ports import GatewayStates, Teller
from k8s_source.reconcile.status import Difference, difference, plain, read, wanted
from k8s_source.reconcile.writer import GoneError, NotLeaderError, Writer
from k8s_source.workqueue.result import PermanentError, Result, RetryableError
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import GatewayState


@dataclass(frozen=True, slots=True)
class Options:
    """Times in seconds.

    `numbers` is how often numbers are written alone, `counts` how often those of Envoys. What may pass has to last for
    `patience`, and after the start for `settle`, since then Envoys and observers are on their way. `deprogram` is how
    long a deletion waits for Envoys.
    """

    numbers: float = 30.0
    counts: float = 5.0
    patience: float = 5.0
    settle: float = 10.0
    deprogram: float = 30.0


class GatewayReconciler:
    """Makes of each DynamicGateway of one source what its object should say of it."""

    def __init__(
        self,
        source: str,
        get: Callable[[ItemKey], Item[Stated] | None],
        states: GatewayStates,
        writer: Writer,
        teller: Teller,
        *,
        options: Options,
        clock: Callable[[], float],
    ) -> None:
        """Write for the objects of the source of that name, which `get` gives; `clock` (seconds) never goes back."""
        self._source = source
        self._get = get
        self._states = states
        self._writer = writer
        self._teller = teller
        self._options = options
        self._clock = clock
        self._memory = Memory(clock)
        self._farewells = Farewells(source, states, writer, teller, limit=options.deprogram, clock=clock)
        self._began = clock()

    @property
    def leavers(self) -> Collection[ItemKey]:
        """The objects that are not watched any more, and of which something may have to be undone."""
        return self._farewells.leavers

    def left(self, item: Item[Stated]) -> None:
        """Note the last state of an object that is not watched any more, or gone. Every replica does: any may lead next."""
        self._farewells.left(item)

    async def reconcile(self, key: ItemKey) -> Result:
        """Bring one object about.

        Raises:
            RetryableError: It may go well later.
            PermanentError: It goes wrong until something changes; an Event tells it.
        """
        item = self._get(key)
        try:
            if item is None:
                self._memory.forget(key)
                return await self._farewells.part(key)
            self._writer.check()
            return await self._farewells.attend(item) if item.meta.deleted else await self._attend(item)
        except NotLeaderError:
            return Result()
        except GoneError:
            self._farewells.forget(key)
            return Result()
        except PermanentError as error:
            note = f"{error.reason}: {error.message}"
            if item is not None:
                self._teller.tell(item, Happening(Reason.WRITE_REFUSED, note, "Write", is_warning=True))
            raise

    async def _attend(self, item: Item[Stated]) -> Result:
        """The work on an object that stays: an object that can't be given a finalizer is told its status nevertheless."""
        self._farewells.forget(item.key)
        trouble = await self._hold(item)
        result = await self._tell(item)
        if trouble is not None:
            raise trouble
        return result

    async def _hold(self, item: Item[Stated]) -> RetryableError | PermanentError | None:
        """Have our finalizer on an object; what went wrong with it."""
        if finalizer.is_held(item.meta) or self._memory.is_held(item):
            return None
        try:
            self._memory.held(item, await self._writer.add_finalizer(item))
        except (RetryableError, PermanentError) as error:
            return error
        return None

    async def _tell(self, item: Item[Stated]) -> Result:
        """Have an object's status say what is known.

        Where derivation is not as far as the object, or the other way round, the later one comes here again.
        """
        state = self._states.get(GatewayKey(*item.key))
        if state is not None and state.origin.source != self._source:
            state = displaced(state, item.meta.generation)
        if state is None or state.status.observed_generation > item.meta.generation:
            return Result()
        return Result(await self._write(item, state))

    async def _write(self, item: Item[Stated], state: GatewayState) -> float:
        """Write the status if it is time to; in how many seconds to look again."""
        now = self._memory.status(item) or read(item.body.status)
        then = plain(wanted(state, now))
        differs = difference(now, then)
        if wait := self._wait(item, differs, state.resync):
            return min(wait, state.resync)
        if differs is not Difference.NONE:
            written = await self._writer.status(item, now, then)
            self._memory.wrote(item, written.status, written.version)
            for each in happenings(now, then):
                self._teller.tell(item, each)
        return min(state.resync, self._options.numbers) if state.status.kafka_lag else state.resync

    def _wait(self, item: Item[Stated], differs: Difference, resync: float) -> float:
        """How long a difference can wait; 0 when there is none, or it is to be written now.

        The version of a group changes with every endpoint of it: written for each gateway in the interval of numbers, a group
        of 1,000 would be 33 writes a second for nothing that happened to them.
        """
        now = self._clock()
        last = self._memory.last_write(item)
        since = self._memory.passing_since(item, now if differs is Difference.PASSING else None)
        match differs:
            case Difference.VERSION:
                due = last + resync
            case Difference.NUMBERS:
                due = last + self._options.numbers
            case Difference.COUNTS:
                due = last + self._options.counts
            case Difference.PASSING:
                due = max(since + self._options.patience, self._began + self._options.settle)
            case _:
                due = now
        return max(0.0, due - now)
