"""The gauges of a fleet: read from groups, nodes and sources when somebody scrapes, never kept up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from xds_server.ir.decision import Choice
from xds_server.ir.gateway_status import READY, Status
from xds_server.snapshot.feed import SourceReport
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.history.store import Store
from xds_server.status.gateway_book import GatewayBook
from xds_server.status.replicas import Replicas
from xds_server.status.switchboard import Switchboard
from xds_server.status.tracker import Tracker
from xds_server.telemetry import names
from xds_server.telemetry.metrics import Metrics, Readings
from xds_server.wire.types import key_of


def observe_fleet(
    metrics: Metrics, groups: Groups, tracker: Tracker, sources: Callable[[], Sequence[SourceReport]]
) -> None:
    """Have the gauges of the table read from these parts."""

    def resources() -> Readings:
        current = [group.current for group in groups]
        return [
            ((snapshot.group, key_of(url)), len(typeset))
            for snapshot in current
            if snapshot is not None
            for url, typeset in snapshot.types.items()
        ]

    def left_out() -> Readings:
        return [((group.name,), len(group.current.unserved) if group.current else 0) for group in groups]

    metrics.observe(
        names.CONNECTED_NODES, lambda: [((group.name,), tracker.counts(group.name).connected) for group in groups]
    )
    metrics.observe(
        names.GROUP_HELD,
        lambda: [((each.name,), float(each.current is not None and each.current.held is not None)) for each in groups],
    )
    metrics.observe(names.STREAMS, lambda: [((protocol,), count) for protocol, count in tracker.streams().items()])
    metrics.observe(names.RESOURCES, resources)
    metrics.observe(names.LEFT_OUT, left_out)
    metrics.observe(names.WITHHELD, lambda: [((group.name,), len(group.views.standing())) for group in groups])
    metrics.observe(names.SOURCE_UP, lambda: [((each.name,), float(each.up)) for each in sources()])
    metrics.observe(names.SOURCE_ERRORS, lambda: [((each.name,), len(each.problems)) for each in sources()])
    metrics.observe(names.SOURCE_LAST_SYNC, lambda: [((each.name,), each.last_sync) for each in sources()])


def observe_replicas(metrics: Metrics, replicas: Replicas) -> None:
    """Have the gauge about other replicas read from what they tell."""

    def up() -> Readings:
        silent = {name for name, _ in replicas.unheard}
        return [((name,), float(name not in silent)) for name in replicas.names]

    metrics.observe(names.REPLICA_UP, up)


def observe_store(metrics: Metrics, store: Store) -> None:
    """Have the gauges about the state directory read from its store, in whose thread groups are added."""
    metrics.observe(names.STATE_UP, lambda: [((), float(not store.is_failing))])
    metrics.observe(names.STATE_FILES_DAMAGED, lambda: [((), float(len(store.faults)))])
    metrics.observe(names.STATE_STORED_SEQ, lambda: [((group,), seq) for group, seq in dict(store.flushed_seq).items()])


def observe_gateways(metrics: Metrics, book: GatewayBook) -> None:
    """Have the gauges about gateways read from the book."""

    def routes() -> Readings:
        found: list[tuple[tuple[str, ...], float]] = []
        for report, _ in book.counted():
            counts = Counter(route.decision.choice for route in report.routes)
            found += [((*report.key, choice.value), counts[choice]) for choice in Choice]
        return found

    def ready() -> Readings:
        return [
            (tuple(report.key), float((READY, Status.TRUE) in [each[:2] for each in status.conditions]))
            for report, status in book.counted()
        ]

    metrics.observe(names.GATEWAY_ROUTES, routes)
    metrics.observe(
        names.GATEWAY_UNKNOWN, lambda: [(tuple(report.key), status.unknown) for report, status in book.counted()]
    )
    metrics.observe(names.GATEWAY_READY, ready)


def observe_switches(metrics: Metrics, board: Switchboard, groups: Groups) -> None:
    """Have the gauges about switches, and about what they keep back, read from these parts."""
    metrics.observe(
        names.SWITCH,
        lambda: [((key.name.value, key.route, switch.value.value), 1.0) for key, switch in board.switches.items()],
    )
    metrics.observe(names.GROUP_BEHIND, lambda: [((each.name,), float(each.behind is not None)) for each in groups])
    metrics.observe(names.BREAKER_OPEN, lambda: [((), float(board.brake.state.since is not None))])
    metrics.observe(names.BREAKER_HELD, lambda: [((), len(board.brake.state.held))])
