"""The composition root: makes every part out of the settings, joins them, runs them in one task group, ends them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import structlog
import uvloop

from xds_server import process
from xds_server.admin import AdminDeps, AdminServer, Evidence
from xds_server.admin.rights import rights_of
from xds_server.credentials.tls import watch_tls
from xds_server.credentials.watched import Credentials
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.settings.exposure import tokens_in_plain_text, unprotected
from xds_server.settings.later import without_effect
from xds_server.settings.root import Settings
from xds_server.settings.sources import FilesEntry
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.preflight import EnvoyChecker, Preflight
from xds_server.snapshot.snapshot import LeftOut
from xds_server.sources.base import Source
from xds_server.sources.files.inputs import inputs
from xds_server.sources.files.located import Locating
from xds_server.sources.push import PushSource
from xds_server.sources.push.rpc import PushService
from xds_server.sources.registry import make_sources
from xds_server.status.audit import Audit
from xds_server.status.events import EventBus
from xds_server.status.gauges import observe_fleet, observe_store
from xds_server.status.pushes import PushTies
from xds_server.status.state import State
from xds_server.status.tracker import Tracker
from xds_server.stream.admission import grouping_of
from xds_server.stream.auth import Authenticator
from xds_server.stream.context import Limits, StreamContext
from xds_server.stream.sequencer import Waits
from xds_server.stream.server import XdsServer
from xds_server.telemetry import names
from xds_server.telemetry.eventlog import EventLog
from xds_server.telemetry.logs import configure
from xds_server.telemetry.metrics import Metrics
from xds_server.telemetry.tracing import Traces, from_environment
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes
from xds_server.translate.render import to_json
from xds_server.translate.replay import archived_document
from xds_server.translate.secrecy import holds_secrets

_RETRY = 5.0
"""Seconds after which a source that ended by an error is started again."""

_READINESS_SHOWN = 1.0
"""Seconds for which the admin API outlives the end of the streams' service, while some of them are busy."""

_log = structlog.get_logger()


def run(settings: Settings, address_file: Path | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        OSError: an address can't be listened on, the address file not be written, a credential not be used, or the
            state directory not be used.
    """
    configure(settings.log.level, settings.log.format)
    process.look_seldom()
    uvloop.run(_serve(settings, address_file))


@dataclass(slots=True)
class App:
    """All parts of one running Tidegate."""

    groups: Groups
    bus: EventBus
    pipeline: Pipeline
    sources: list[tuple[Source, Feed]]
    xds: XdsServer
    admin: AdminServer
    credentials: Credentials
    state: State
    traces: Traces
    preflight: Preflight | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


def build(settings: Settings) -> App:
    """Make and join all parts; nothing runs yet.

    Raises:
        CredentialError: a certificate or a token can't be used.
        OSError: the state directory can't be used.
    """
    credentials = Credentials()
    state = State(settings, holds_secrets, time.time)
    metrics = Metrics(version("tidegate"))
    history = settings.history
    later = asyncio.get_running_loop().call_soon
    groups = Groups(time.time, history.count, later, history.age, prune=prune_routes)
    bus = EventBus(time.time, state.journal.last_id if state.journal else 0)
    audit = Audit(bus, time.time, state.journal)
    tracker = Tracker(groups, bus, time.time)
    coalesce = Coalesce(settings.xds.coalesce.quiet, settings.xds.coalesce.max)
    preflight = _preflight(settings, metrics)
    assembler = Assembler(Locating(decode), prune_routes, preflight.refused if preflight else None)
    traces = from_environment(version("tidegate"), os.environ)
    pipeline = Pipeline(assembler, groups, coalesce, metrics, audit.emit, keep=state.save, traced=traces.change)
    sources = [(source, pipeline.feed(source.name, source.kind)) for source in make_sources(settings, decode)]
    push = next(((each, feed) for each, feed in sources if isinstance(each, PushSource)), None)
    if push is not None:
        push[0].tie(PushTies(pipeline, groups, push[1], audit, state))
    pipeline.restore(state.restored)
    limits = Limits(
        settings.xds.max_streams,
        settings.xds.max_request_bytes,
        settings.xds.max_names,
        settings.xds.max_connection_age,
        settings.xds.max_request_rate,
    )
    waits = Waits(settings.xds.order_timeout, settings.xds.removal_timeout)
    stopping = asyncio.Event()

    def unready() -> str | None:
        if stopping.is_set():
            return "shutting down"
        return None if groups.synced or state.restored else "not every source has been read once yet"

    observe_fleet(metrics, groups, tracker, pipeline.sources)
    if state.store is not None:
        observe_store(metrics, state.store)
    state.tell_damage(audit)
    deps = AdminDeps(
        groups,
        tracker,
        bus,
        pipeline.sources,
        unready,
        to_json,
        metrics.render,
        pipeline,
        audit,
        state.flushed,
        push[0] if push is not None else None,
        evidence=_evidence(settings),
    )
    metrics.observe(names.CREDENTIAL_UP, credentials.up)
    rights = rights_of(settings.admin.tokens, credentials)
    xds = XdsServer(
        StreamContext(
            groups,
            tracker,
            metrics,
            waits,
            limits,
            grouping=grouping_of(settings.groups),
            traces=traces if traces.is_on else None,
        ),
        Authenticator(settings.xds.auth, credentials),
        watch_tls(credentials, "xds.tls", settings.xds.tls),
        audit,
        [PushService(push[0], rights.operator)] if push is not None else [],
    )
    admin = AdminServer(
        deps,
        rights,
        watch_tls(credentials, "admin.tls", settings.admin.tls),
        settings.admin.hosts,
    )
    return App(groups, bus, pipeline, sources, xds, admin, credentials, state, traces, preflight, stopping)


def _evidence(settings: Settings) -> Evidence:
    """What an archive has beside what is served."""
    paths = [entry.path for entry in settings.sources if isinstance(entry, FilesEntry)]
    return Evidence(lambda: inputs(paths, archived_document), settings.model_dump(mode="json"))


def _preflight(settings: Settings, metrics: Metrics) -> Preflight | None:
    """The gate that asks a real Envoy, if it is wanted; it works in a thread, and metrics belong to the loop's."""
    if not settings.preflight.enabled:
        return None
    loop = asyncio.get_running_loop()

    def meter(outcome: str, seconds: float) -> None:
        loop.call_soon_threadsafe(metrics.checked, outcome, seconds)

    return Preflight(EnvoyChecker(settings.preflight.envoy), settings.preflight.timeout, meter)


async def _serve(settings: Settings, address_file: Path | None) -> None:
    app = build(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, app.stopping.set)
    _warn(settings)
    # Before the task group, which would wrap what goes wrong in a group of errors.
    await _open(app, settings, address_file)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(_log_events(app)), tasks.create_task(app.pipeline.run())]
        running += [tasks.create_task(_run_source(source, feed)) for source, feed in app.sources]
        running += [tasks.create_task(_follow_readiness(app)), tasks.create_task(app.credentials.run())]
        tasks.create_task(app.state.run())
        await app.stopping.wait()
        _log.info("stopping")
        await _close(app)
        for task in running:
            task.cancel()
        await asyncio.wait(running)
        await app.state.close()
        await asyncio.to_thread(app.traces.close)
    _log.info("stopped")


async def _open(app: App, settings: Settings, address_file: Path | None) -> None:
    """Listen, and tell where; when that can't be, nothing is left open.

    Raises:
        OSError: an address can't be listened on, or the address file not be written.
    """
    try:
        addresses = {"xds": await app.xds.start(settings.xds.address)}
        addresses["admin"] = await app.admin.start(settings.admin.address)
        _announce(addresses, address_file)
    except OSError:
        await _close(app)
        raise


async def _close(app: App) -> None:
    await app.xds.stop()
    if app.preflight is not None:
        app.preflight.close()
    app.bus.close()
    await app.admin.stop()


async def _run_source(source: Source, feed: Feed) -> None:
    """Run a source for ever: one that ends by an error is reported and started again; the others go on."""
    while True:
        try:
            await source.run(feed)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its task ends here
            _log.exception("source_failed", source=source.name)
            feed.failed(Problem(Origin(source.name), "SourceFailed", f"{type(error).__name__}: {error}"))
        await asyncio.sleep(_RETRY)


async def _follow_readiness(app: App) -> None:
    if app.state.restored:
        await app.xds.set_serving(serving=True)
    await app.pipeline.synced.wait()
    process.keep()
    await app.xds.set_serving(serving=True)
    _log.info("ready", groups=[group.name for group in app.groups])


async def _log_events(app: App) -> None:
    """Log what happens. When events come faster than they are logged some are lost, and that is logged too."""

    def problems(source: str) -> Sequence[Problem]:
        return next((each.problems for each in app.pipeline.sources() if each.name == source), ())

    def left_out(name: str) -> Sequence[LeftOut]:
        group = app.groups.get(name)
        return group.current.left_out if group and group.current else ()

    journal = EventLog(problems, left_out)
    last = 0
    while True:
        async for event in app.bus.follow(after=last):
            journal.write(event)
            last = event.id
        if app.stopping.is_set():
            return
        _log.warning("events_not_logged", hint="they came too fast", after=last)
        await asyncio.sleep(0)


def _warn(settings: Settings) -> None:
    for key in without_effect(settings):
        _log.warning("setting_without_effect", key=key, hint="its feature comes with a later version")
    if not settings.sources:
        _log.warning("no_sources", hint="nothing is declared anywhere; set `sources`, or --files PATH")
    for name, address in tokens_in_plain_text(settings):
        _log.warning("tokens_in_plain_text", server=name, address=address, hint="whoever listens on the way has them")
    for name, address in unprotected(settings):
        _log.warning("unprotected_address", server=name, address=address, hint="no TLS and no tokens")


def _announce(addresses: dict[str, str], address_file: Path | None) -> None:
    """Tell the real addresses: one log line, and the file (whole or not at all) that a waiting program reads."""
    _log.info("listening", **addresses)
    if address_file is None:
        return
    draft = address_file.with_name(f".{address_file.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(addresses))
        draft.replace(address_file)
    except OSError as error:
        raise OSError(f"--address-file: can't write {address_file}: {error.strerror}") from error
