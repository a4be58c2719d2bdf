"""All commands and their options; what they do lies in the modules beside this one.

Those are imported inside the functions, so that `tidegate --help` need not wait for gRPC and Envoy's messages.
"""

# ruff: noqa: PLC0415  # see above

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from xds_server.cli.cluster import crds, webhook
from xds_server.cli.options import ADMIN, Admin, Ca, LogFormat, LogLevel, Output, TokenFile, View
from xds_server.cli.switching import switch

app = typer.Typer(
    name="tidegate",
    help="An xDS control plane for fleets of Envoy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    # Tracebacks as Python prints them: the rich ones may show local variables, and in them private keys.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Document(StrEnum):
    """The form of a document."""

    JSON = "json"
    YAML = "yaml"


class Report(StrEnum):
    """The form of what `validate` finds: as a compiler tells it, or JSON."""

    TEXT = "text"
    JSON = "json"


Paths = Annotated[list[Path], typer.Argument(metavar="PATH", help="Directories or files, as `serve` takes them.")]


def _show_version(*, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=lambda wanted: _show_version(wanted=wanted), help="Say it."),
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    *,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Configuration file (YAML).")] = None,
    xds_address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where Envoys connect.")] = None,
    admin_address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where the admin API listens.")] = None,
    address_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the real addresses there, as JSON.")
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="Add a source of files; can be given again.")
    ] = None,
    state_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Where state outlives the process.")] = None,
    log_level: Annotated[LogLevel | None, typer.Option(help="The least grave level that is logged.")] = None,
    log_format: Annotated[LogFormat | None, typer.Option(help="The form of log lines.")] = None,
) -> None:
    """Serve xDS and the admin API.

    Flags win over TIDEGATE_... variables, which win over the configuration file.
    """
    from xds_server.process import listen_directly

    listen_directly(os.environ)
    from xds_server.cli.serving import serve

    flags = {
        "xds": {"address": xds_address},
        "admin": {"address": admin_address},
        "state_dir": state_dir,
        "log": {"level": log_level, "format": log_format},
    }
    raise typer.Exit(serve(config, flags, files or [], address_file))


@app.command()
def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="Play one round, check it, and end with 0 or 1.")] = False,
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Set everything up and leave the changes to you.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the admin API; 0 is any free one.")] = 0,
) -> None:
    """Show Tidegate at work with two real Envoys and a Kafka broker, on this machine.

    Requests run all the time while a consumer lags, a route degrades and comes back, and configuration moves.
    """
    from xds_server.cli.demo import demo

    raise typer.Exit(demo(once=once, by_hand=by_hand, admin_port=port))


@app.command()
def validate(
    paths: Paths,
    output: Annotated[Report, typer.Option("-o", "--output", help="For people, or for programs.")] = Report.TEXT,
    envoy: Annotated[bool, typer.Option("--envoy", help="Have a real Envoy check what would be served, too.")] = False,
    envoy_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="That Envoy, else `envoy`; implies --envoy.")
    ] = None,
) -> None:
    """Check files without serving them.

    They are loaded as `serve` would; the exit code is 1 if anything is wrong.
    """
    from xds_server.cli.checking import validate

    command = envoy_path or ("envoy" if envoy else None)
    raise typer.Exit(validate(paths, as_json=output is Report.JSON, envoy=command))


@app.command()
def render(
    paths: Paths,
    group: Annotated[str | None, typer.Option(help="Only this group.")] = None,
    output: Annotated[Document, typer.Option("-o", "--output", help="The form.")] = Document.YAML,
) -> None:
    """Print the xDS resources that would be served.

    Private keys are left out. What is wrong goes to standard error, and makes the exit code 1.
    """
    from xds_server.cli.rendering import render

    raise typer.Exit(render(paths, group, output))


@app.command()
def status(admin: Admin = ADMIN, token_file: TokenFile = None, ca: Ca = None, output: Output = View.TABLE) -> None:
    """Show each group: its version, and who has it."""
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.status(Access(admin, token_file, ca), as_json=output is View.JSON))


@app.command()
def nodes(
    node: Annotated[str | None, typer.Argument(metavar="ID", help="Show this node, with what it refused.")] = None,
    group: Annotated[str | None, typer.Option(help="Only nodes of this group.")] = None,
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show each Envoy: what it accepted and refused."""
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.nodes(Access(admin, token_file, ca), node, group, as_json=output is View.JSON))


@app.command()
def gateways(
    gateway: Annotated[
        str | None,
        typer.Argument(metavar="NAMESPACE/NAME", help="Show this gateway, with its conditions and routes."),
    ] = None,
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show each gateway: where its routes lead now, and why.

    A name without a namespace is one of the namespace default.
    """
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.gateways(Access(admin, token_file, ca), gateway, as_json=output is View.JSON))


@app.command()
def diff(
    group: Annotated[str, typer.Option(help="The group.")] = "default",
    older: Annotated[str | None, typer.Option("--from", metavar="VERSION", help="Default: the one before.")] = None,
    newer: Annotated[str | None, typer.Option("--to", metavar="VERSION", help="Default: the current one.")] = None,
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show what differs between two versions.

    A version is given as the API tells it, or by its seq.
    """
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.diff(Access(admin, token_file, ca), group, older, newer, as_json=output is View.JSON))


@app.command()
def explain(
    key: Annotated[str, typer.Argument(metavar="TYPE", help="cds, eds, lds, rds, sds, or a type URL.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The resource.")],
    group: Annotated[str, typer.Option(help="Its group.")] = "default",
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show what made a resource: which objects, in which lines of which files."""
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.explain(Access(admin, token_file, ca), group, key, name, as_json=output is View.JSON))


@app.command()
def events(
    group: Annotated[str | None, typer.Option(help="Only events of this group.")] = None,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show what happened lately: versions, what nodes accepted and refused, decisions, sources.

    With -o json each line is one event.
    """
    from xds_server.cli import following
    from xds_server.cli.client import Access

    access = Access(admin, token_file, ca)
    raise typer.Exit(following.events(access, group, follow=follow, as_json=output is View.JSON))


@app.command()
def rollback(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; for the audit log and whoever looks next.")],
    version: Annotated[str | None, typer.Option("--to", metavar="VERSION", help="Go back to it, and stay.")] = None,
    release: Annotated[bool, typer.Option("--release", help="Serve what is declared again.")] = False,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Go back to a version and stay there, until released.

    Routes, listeners and clusters are held; endpoints and secrets go on flowing. A version is given as the API tells
    it, or by its seq.
    """
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    if release == (version is not None):
        raise typer.BadParameter("expected either --to VERSION or --release")
    access, as_json = Access(admin, token_file, ca), output is View.JSON
    if version is None:
        raise typer.Exit(operating.release(access, group, reason, as_json=as_json))
    raise typer.Exit(operating.rollback(access, group, version, reason, as_json=as_json))


app.add_typer(switch)


@app.command()
def switches(admin: Admin = ADMIN, token_file: TokenFile = None, ca: Ca = None, output: Output = View.TABLE) -> None:
    """Show which switches are set, by whom, why and until when."""
    from xds_server.cli.client import Access
    from xds_server.cli.switches import show_switches

    raise typer.Exit(show_switches(Access(admin, token_file, ca), as_json=output is View.JSON))


@app.command()
def audit(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many entries, the newest.")] = 20,
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
    output: Output = View.TABLE,
) -> None:
    """Show who changed what, newest first."""
    from xds_server.cli import operating
    from xds_server.cli.client import Access

    raise typer.Exit(operating.audit(Access(admin, token_file, ca), limit, as_json=output is View.JSON))


@app.command()
def export(
    group: Annotated[str, typer.Option(help="The group.")] = "default",
    version: Annotated[str | None, typer.Option(metavar="VERSION", help="Default: the current one.")] = None,
    file: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there.")] = None,
    *,
    admin: Admin = ADMIN,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Write all that is needed to see a fault again elsewhere into one archive, without secrets.

    `tidegate render` and `tidegate serve --files` take it in the place of files.
    """
    from xds_server.cli.client import Access
    from xds_server.cli.exporting import export

    raise typer.Exit(export(Access(admin, token_file, ca), group, version, file))


app.command()(crds)
app.command()(webhook)


def main() -> None:
    """Run the command that the arguments ask for, and exit: 0, 1 for problems and errors, 2 for wrong usage."""
    app(prog_name="tidegate")
