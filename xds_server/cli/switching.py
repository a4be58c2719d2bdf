"""The commands below `tidegate switch`: set one switch, or take it back, and show all that are set then."""

# ruff: noqa: PLC0415  # as in main

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from xds_server.cli.options import ADMIN, Admin, Ca, Output, TokenFile, View

switch = typer.Typer(name="switch", help="Set a switch, or take it back.", no_args_is_help=True)


class Mode(StrEnum):
    """What is said of degradation."""

    AUTO = "auto"
    OFF = "off"
    FORCED = "forced"


Route = Annotated[str, typer.Argument(metavar="ROUTE", help="namespace/gateway/route, or all.")]
Reason = Annotated[str, typer.Option(help="Why; for the audit log and whoever looks next.")]
Within = Annotated[str | None, typer.Option("--for", metavar="DURATION", help="Take it back after that (10m, 2h).")]
Release = Annotated[bool, typer.Option("--release", help="Take the switch back.")]


@switch.command("read-only")
def read_only(
    *,
    reason: Reason,
    within: Within = None,
    release: Release = False,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Publish nothing at all, endpoints neither; what would be is still told."""
    from xds_server.cli import switches
    from xds_server.cli.client import Access

    wanted = switches.Wanted("read_only", "*", "off" if release else "on", reason, _seconds(within), is_set=not release)
    raise typer.Exit(switches.put(Access(admin, token_file, ca), wanted, as_json=output is View.JSON))


@switch.command()
def freeze(
    route: Route,
    *,
    reason: Reason,
    within: Within = None,
    release: Release = False,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Keep a route, or everything, as it is now; endpoints and secrets go on flowing."""
    from xds_server.cli import switches
    from xds_server.cli.client import Access

    wanted = switches.Wanted("freeze", _named(route), "on", reason, _seconds(within), is_set=not release)
    raise typer.Exit(switches.put(Access(admin, token_file, ca), wanted, as_json=output is View.JSON))


@switch.command()
def degradation(
    route: Route,
    mode: Annotated[Mode | None, typer.Argument(help="What it is from now on.")] = None,
    *,
    reason: Reason,
    within: Within = None,
    release: Release = False,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Force a route to its degrade backend, keep it from there (off), or have lag decide (auto).

    What is said of one route goes before what is said of all.
    """
    from xds_server.cli import switches
    from xds_server.cli.client import Access

    if release == (mode is not None):
        raise typer.BadParameter("expected either auto, off, forced, or --release")
    value = mode.value if mode is not None else ""
    wanted = switches.Wanted("degradation", _named(route), value, reason, _seconds(within), is_set=not release)
    raise typer.Exit(switches.put(Access(admin, token_file, ca), wanted, as_json=output is View.JSON))


def _named(route: str) -> str:
    return "*" if route == "all" else route


def _seconds(within: str | None) -> float | None:
    """A duration as seconds.

    Raises:
        typer.BadParameter: It is none.
    """
    if within is None:
        return None
    from pydantic_core import PydanticCustomError

    from xds_server.settings.units import DURATION, seconds

    try:
        return seconds(within)
    except PydanticCustomError:
        raise typer.BadParameter(f"--for: found {within!r}, expected {DURATION}") from None
