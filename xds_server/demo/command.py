"""The `tidegate demo` command."""

from __future__ import annotations

from typing import Annotated

import typer

from xds_server.demo.run import run_demo


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="Play one round, check it, and end with 0 or 1.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the admin API; 0 is any free one.")] = 0,
) -> None:
    """Run Tidegate with two real Envoys and requests that run all the time, and watch configuration move."""
    raise typer.Exit(run_demo(once=once, admin_port=port))
