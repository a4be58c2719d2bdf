"""The observers that the settings ask for, and the task that each of them runs in."""

from __future__ import annotations

import asyncio

import structlog

from observers.base import Observer, Report
from observers.registry import plugged_in
from xds_server.settings.root import Settings

_RETRY = 5.0
"""Seconds after which an observer that ended by an error is started again."""

_log = structlog.get_logger()


def make_observers(settings: Settings) -> list[Observer]:
    """An observer for each section of `observers`."""
    return plugged_in(settings.observers.plug_ins)


async def run_observer(observer: Observer, report: Report) -> None:
    """Run an observer for ever: one that ends by an error is logged and started again; the others go on."""
    while True:
        try:
            await observer.run(report)
        except Exception:  # noqa: BLE001 - a plug-in may raise anything; its task ends here
            _log.exception("observer_failed", observer=observer.name)
        await asyncio.sleep(_RETRY)
