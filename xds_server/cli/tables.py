"""Tables: with a line under a bold head on a terminal, else plain aligned text that tools can cut."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from xds_server.cli.text import clean

_WIDE = 100_000
"""Letters per line: no cell is ever cut or folded; a terminal that is too narrow wraps the line."""


def show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, width=_WIDE, highlight=False)
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    with console.capture() as made:
        console.print(table)
    for line in made.get().splitlines():
        print(line.rstrip())


def short(version: str) -> str:
    """A version as far as people need it."""
    return version[:8] or "-"


def age(stamp: str | None) -> str:
    """How long ago a time of the API is, in its largest unit: `45s`, `12m`, `3h`, `5d`."""
    if not stamp:
        return "-"
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(stamp)).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def moment(stamp: str | None) -> str:
    """A time of the API without its milliseconds."""
    return f"{stamp[:19]}Z" if stamp else "-"
