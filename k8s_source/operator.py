"""The operator: what this process changes in a cluster while it leads, joined of informers, queue, election, reconcilers.

A replica that does not lead keeps its informers and writes nothing. One that begins to lead looks at every object, so what the
leader before it left undone is done.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

import structlog

from k8s_source.client.api import Api
from k8s_source.events.event import Reporter
from k8s_source.events.recorder import Meter as EventMeter, Recorder
from k8s_source.informer.informer import Informer
from k8s_source.informer.item import Change, ItemKey
from k8s_source.kinds.stated import Stated
from k8s_source.lease.election import Election, own_identity
from k8s_source.lease.elector import Timings
from k8s_source.lease.lock import LeaseLock
from k8s_source.reconcile import gateways
from k8s_source.reconcile.gateways import GatewayReconciler
from k8s_source.reconcile.ports import GatewayStates, Notes
from k8s_source.reconcile.teller import RecordingTeller
from k8s_source.reconcile.writer import Writer
from k8s_source.workqueue.controller import Controller
from k8s_source.workqueue.meter import Meter
from k8s_source.workqueue.rate import Backoff, Limits
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.writes import Write

CONTROLLER = "dynamicgateway"
"""The name of the controller in metrics and logs."""

REPORTER = "tidegate.dev/control-plane"
"""The `reportingController` of Events."""

_GRACE = 2.0
"""Seconds that writes which go on have to end once this process leads no more."""

LIMITS = Limits(backoff=Backoff(most=30.0))
"""What failed is tried again after 30 s at the latest, where client-go waits up to 1,000: a status is old for so long after an outage."""

_AGAIN = 5.0
"""Seconds after which an operator that has failed, by a fault of the program, begins again."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """`lease` is the Lease's namespace and name, None where no other replica writes; `workers` is how many objects at a time."""

    lease: tuple[str, str] | None
    timings: Timings = field(default_factory=Timings)
    workers: int = 4
    identity: str = field(default_factory=own_identity)
    gateways: gateways.Options = field(default_factory=gateways.Options)


class Operator:
    """Writes for all DynamicGateways while this process leads. All calls belong on the event loop."""

    def __init__(
        self,
        api: Api,
        informer: Informer[Stated],
        options: Options,
        states: GatewayStates,
        *,
        source: str,
        notes: Notes,
        meter: Meter,
        events: EventMeter,
    ) -> None:
        """Write for the objects of an informer that are read by the source of that name."""
        self._options = options
        self._informer = informer
        self._notes = notes
        self.leadership = self._agree(api)
        self._recorder = Recorder(api, Reporter(REPORTER, options.identity), events)
        self._reconciler = reconciler = GatewayReconciler(
            source,
            informer.store.get,
            states,
            Writer(api, self.leadership, notes),
            RecordingTeller(self._recorder),
            options=options.gateways,
            clock=time.monotonic,
        )
        self.controller: Controller[ItemKey] = Controller(
            CONTROLLER, reconciler.reconcile, meter, workers=options.workers, limits=LIMITS, grace=_GRACE
        )
        informer.follow(self._changed)
        states.follow(self._told)

    async def run(self) -> None:
        """Compete for the lead, and lead, until cancelled; then it is released, and what was told before is written."""
        await self._informer.synced.wait()
        while True:
            try:
                await self.leadership.run()
            except asyncio.CancelledError:
                await self._recorder.flush()
                raise
            except Exception:  # noqa: BLE001 - the boundary of a task: a fault in it is not to end what is served
                _log.exception("operator_failed")
            await asyncio.sleep(_AGAIN)

    def _agree(self, api: Api) -> Election | Alone:
        options = self._options
        if options.lease is None:
            return Alone(options.identity, self._lead)
        return Election(LeaseLock(api, *options.lease), options.timings, options.identity, self._lead)

    async def _lead(self) -> None:
        """Look at everything, then at what changes."""
        target = "/".join(self._options.lease or ("", CONTROLLER))
        self._notes.wrote(Write("lease", target, self._options.identity, "this replica writes from now on"))
        for key in (*(item.key for item in self._informer.store.items()), *self._reconciler.leavers):
            self.controller.add(key)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run(), name="events")
            await self.controller.run()

    def _changed(self, changes: Sequence[Change[Stated]]) -> None:
        for change in changes:
            if change.after is None and change.before is not None:
                self._reconciler.left(change.before)
        if self.leadership.is_leader():
            for change in changes:
                self.controller.add(change.key)

    def _told(self, gateway: GatewayKey, is_news: bool) -> None:  # noqa: FBT001 - a callback's place
        """Have it looked at: at once, or in a while, with all the numbers that have moved until then.

        Who does not lead looks at everything once it does.
        """
        if not self.leadership.is_leader():
            return
        key = ItemKey(*gateway)
        if is_news:
            self.controller.add(key)
        else:
            self.controller.add_after(key, self._options.gateways.numbers)


class Alone:
    """The leadership of a process that need not agree with any other."""

    def __init__(self, identity: str, lead: Callable[[], Coroutine[None, None, None]]) -> None:
        self.identity = identity
        self._lead = lead

    def is_leader(self) -> bool:
        """See `Leadership`."""
        return True

    def remaining(self) -> float:
        """See `Leadership`; no write takes longer."""
        return 60.0

    async def run(self) -> None:
        """Lead."""
        await self._lead()
