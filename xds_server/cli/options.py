"""Options that the operator's commands have in common."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class View(StrEnum):
    """A table for people, or the admin API's JSON as it is."""

    TABLE = "table"
    JSON = "json"


class LogLevel(StrEnum):
    """The least grave level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The form of log lines; `auto` is for people on a terminal, else JSON."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


Admin = Annotated[str, typer.Option("--admin", metavar="URL", envvar="TIDEGATE_ADMIN_URL", help="The admin API.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", metavar="FILE", envvar="TIDEGATE_ADMIN_TOKEN_FILE", help="File with the token to show."
    ),
]
Ca = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", envvar="TIDEGATE_ADMIN_CA", help="Authority of its certificate (PEM)."),
]
Output = Annotated[View, typer.Option("-o", "--output", help="A table, or the API's JSON as it is.")]
ADMIN = "http://127.0.0.1:19000"
"""Where the admin API is, where nothing else is said."""
