"""Asks, and shows the answer or what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from xds_server.cli.client import AdminError, decoded
from xds_server.cli.text import clean

Json = Mapping[str, Any]


def answered(ask: Callable[[], bytes], view: Callable[[Json], None], *, as_json: bool) -> int:
    """Ask, and show the answer or what went wrong; gives the exit code."""
    try:
        body = ask()
        if as_json:
            print(body.decode())
        else:
            view(decoded(body))
    except AdminError as error:
        print(clean(f"tidegate: {error}"), file=sys.stderr)
        return 1
    return 0
