"""Logging: structlog to standard error, for people or as JSON, with the logs of libraries in the same form.

A message is a constant; what varies goes into keys: `log.info("listening", xds=…, admin=…)`.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_CHATTY = {
    "asyncio": logging.WARNING,
    "aiohttp.access": logging.WARNING,
    "kubernetes_asyncio.config.kube_config": logging.ERROR,  # a missing file at each try; the source tells it
    "opentelemetry": logging.WARNING,
    "watchfiles": logging.WARNING,
}
"""Libraries that tell too much; a graver level that was asked for counts for them too."""

_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
)


def configure(level: str = "info", format: str = "auto", stream: TextIO | None = None) -> None:  # noqa: A002  # the setting's name
    """Set up logging for this process; a second call replaces the first.

    Args:
        level: `debug`, `info`, `warning` or `error`: the least grave that is logged.
        format: `console`, `json`, or `auto`: console on a terminal, else JSON.
        stream: Where to; standard error when not given.
    """
    target = stream or sys.stderr
    console = format == "console" or (format == "auto" and target.isatty())
    number = _LEVELS[level]
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = _Handler(target)
    handler.setFormatter(_formatter(console=console, colors=target.isatty()))
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(number)
    for name, least in _CHATTY.items():
        logging.getLogger(name).setLevel(max(number, least))


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, so that a second `configure` finds it."""


def _formatter(*, console: bool, colors: bool) -> structlog.stdlib.ProcessorFormatter:
    render: list[Processor]
    if console:
        # Plain tracebacks: the rich ones show local variables, which may hold private keys.
        render = [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]
    else:
        render = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_SHARED, structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
    )
