"""What the process itself has to say: what is unwise in its settings, where it listens, and what happens."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import structlog

from xds_server.app.build import App
from xds_server.ir.problem import Problem
from xds_server.settings.exposure import tokens_in_plain_text, unprotected
from xds_server.settings.later import without_effect
from xds_server.settings.root import Settings
from xds_server.settings.strays import ignored
from xds_server.snapshot.snapshot import LeftOut
from xds_server.telemetry.eventlog import EventLog

_log = structlog.get_logger()


def warn(settings: Settings) -> None:
    """Tell what is without effect, or unwise."""
    for key in without_effect(settings):
        _log.warning("setting_without_effect", key=key, hint="its feature comes with a later version")
    if names := ignored(os.environ):
        _log.warning("variables_ignored", names=names, hint="they begin with TIDEGATE_ and are no settings")
    if not settings.sources:
        _log.warning("no_sources", hint="nothing is declared anywhere; set `sources`, or --files PATH")
    for name, address in tokens_in_plain_text(settings):
        _log.warning("tokens_in_plain_text", server=name, address=address, hint="whoever listens on the way has them")
    for name, address in unprotected(settings):
        _log.warning("unprotected_address", server=name, address=address, hint="no TLS and no tokens")


def announce(addresses: dict[str, str], address_file: Path | None) -> None:
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


def retract(addresses: dict[str, str], address_file: Path | None) -> None:
    """Remove the file that told the addresses, unless it tells those of another process by now."""
    if address_file is None:
        return
    try:
        if address_file.read_text() == json.dumps(addresses):
            address_file.unlink()
    except (OSError, UnicodeDecodeError) as error:
        _log.warning("address_file_not_removed", path=str(address_file), error=str(error))


async def log_events(app: App) -> None:
    """Log what happens. When events come faster than they are logged some are lost, and that is logged too."""

    def problems(source: str) -> Sequence[Problem]:
        return next((each.problems for each in app.flow.pipeline.sources() if each.name == source), ())

    def left_out(name: str) -> Sequence[LeftOut]:
        group = app.flow.groups.get(name)
        return group.current.left_out if group and group.current else ()

    journal = EventLog(problems, left_out)
    last = 0
    while True:
        async for event in app.telling.bus.follow(after=last):
            journal.write(event)
            last = event.id
        if app.stopping.is_set():
            return
        _log.warning("events_not_logged", hint="they came too fast", after=last)
        await asyncio.sleep(0)
