"""Runs all parts in one task group until a signal comes, and ends them in order."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import structlog
import uvloop

from xds_server import process
from xds_server.app.build import App, build
from xds_server.app.tell import announce, log_events, retract, warn
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.settings.root import Settings
from xds_server.snapshot.feed import Feed
from xds_server.sources.base import Source
from xds_server.telemetry.logs import configure

_RETRY = 5.0
"""Seconds after which a source that ended by an error is started again."""

_log = structlog.get_logger()


def run(settings: Settings, address_file: Path | None = None) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; the last is ignored where whoever started the process had it ignored.

    Raises:
        OSError: an address can't be listened on, the address file not be written, a credential not be used, or the
            state directory not be used.
    """
    configure(settings.log.level, settings.log.format)
    process.look_seldom()
    uvloop.run(_serve(settings, address_file))


async def _serve(settings: Settings, address_file: Path | None) -> None:
    app = build(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` does
            loop.add_signal_handler(number, app.stopping.set)
    warn(settings)
    # Before the task group, which would wrap what goes wrong in a group of errors.
    addresses = await _open(app, settings, address_file)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(log_events(app)), tasks.create_task(app.flow.pipeline.run())]
        running += [tasks.create_task(app.watching.run()), tasks.create_task(app.board.run())]
        running += [tasks.create_task(_run_source(source, feed)) for source, feed in app.flow.sources]
        running += [tasks.create_task(_follow_readiness(app)), tasks.create_task(app.credentials.run())]
        running += [tasks.create_task(app.replicating.run())]
        running += [tasks.create_task(app.cluster.run())] if app.cluster is not None else []
        operating = [tasks.create_task(app.operator.run())] if app.operator is not None else []
        tasks.create_task(app.flow.state.run())
        await app.stopping.wait()
        _log.info("stopping")
        for task in operating:
            task.cancel()  # before streams end: that is not to be told of
        retract(addresses, address_file)
        app.fleets.close()
        await _close(app)
        for task in running:
            task.cancel()
        await asyncio.wait([*running, *operating])
        if app.cluster is not None:
            await app.cluster.close()
        await app.flow.state.close()
        await asyncio.to_thread(app.telling.traces.close)
    _log.info("stopped")


async def _open(app: App, settings: Settings, address_file: Path | None) -> dict[str, str]:
    """Listen, and tell where, which is given back; when that can't be, nothing is left open.

    Raises:
        OSError: an address can't be listened on, or the address file not be written.
    """
    try:
        addresses = {"xds": await app.xds.start(settings.xds.address)}
        addresses["admin"] = await app.admin.start(settings.admin.address)
        announce(addresses, address_file)
    except OSError:
        await _close(app)
        raise
    return addresses


async def _close(app: App) -> None:
    await app.xds.stop()
    await app.replicating.bulletin.leave()
    if app.flow.preflight is not None:
        app.flow.preflight.close()
    app.telling.bus.close()
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
    if app.flow.state.restored:
        await app.xds.set_serving(serving=True)
    await app.flow.pipeline.synced.wait()
    process.keep()
    await app.xds.set_serving(serving=True)
    _log.info("ready", groups=[group.name for group in app.flow.groups])
