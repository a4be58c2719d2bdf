"""Commands for a Kubernetes cluster, and their options; what they do lies in the modules beside this one."""

# ruff: noqa: PLC0415  # as in main

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xds_server.cli.options import LogFormat, LogLevel

_PREFIX = "TIDEGATE_WEBHOOK_"


def crds(
    *,
    webhook: Annotated[
        bool, typer.Option(help="Serve all versions; --no-webhook: v1alpha1 alone, which needs no `tidegate webhook`.")
    ] = True,
    url: Annotated[
        str, typer.Option(metavar="https://HOST:PORT", help="Where it is, outside the cluster, instead of a Service.")
    ] = "",
) -> None:
    """Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`."""
    from xds_server.cli.definitions import print_definitions

    raise typer.Exit(print_definitions(with_webhook=webhook, url=url))


def webhook(
    *,
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", envvar=f"{_PREFIX}ADDRESS", help="Where the API server connects.")
    ] = "0.0.0.0:9443",
    cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", envvar=f"{_PREFIX}CERT", help="Certificate (PEM) that someone else keeps."),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", envvar=f"{_PREFIX}KEY", help="Its key.")] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", envvar=f"{_PREFIX}CA", help="Its authority, if Tidegate is to tell the API server."
        ),
    ] = None,
    service: Annotated[
        str, typer.Option(metavar="NAME", envvar=f"{_PREFIX}SERVICE", help="The Service in front of it.")
    ] = "tidegate-webhook",
    namespace: Annotated[
        str | None, typer.Option(metavar="NAME", envvar="POD_NAMESPACE", help="Of the Service and the Secret.")
    ] = None,
    secret: Annotated[  # the name of one
        str, typer.Option(metavar="NAME", envvar=f"{_PREFIX}SECRET", help="Where it keeps its certificate.")
    ] = "tidegate-webhook",  # noqa: S107 - a name
    url: Annotated[
        str | None,
        typer.Option(
            metavar="https://HOST:PORT", envvar=f"{_PREFIX}URL", help="Instead of a Service, from outside the cluster."
        ),
    ] = None,
    certificate_life: Annotated[
        str, typer.Option(metavar="DURATION", envvar=f"{_PREFIX}CERTIFICATE_LIFE", help="How long its own one lasts.")
    ] = "2160h",
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: the pod's service account, else KUBECONFIG.")
    ] = None,
    context: Annotated[str, typer.Option(metavar="NAME", help="Of the kubeconfig; default: its current one.")] = "",
    log_level: Annotated[LogLevel, typer.Option(envvar="TIDEGATE_LOG__LEVEL", help="The least grave.")] = LogLevel.INFO,
    log_format: Annotated[
        LogFormat, typer.Option(envvar="TIDEGATE_LOG__FORMAT", help="The form of log lines.")
    ] = LogFormat.AUTO,
) -> None:
    """Convert and judge DynamicGateways, as the API server asks.

    Without --cert it makes its certificates itself, keeps them in a Secret, and has the API server trust them.
    """
    from xds_server.cli.webhook import Options, serve_webhook

    options = Options(address, cert, key, ca, service, namespace, secret, url, certificate_life, kubeconfig, context)
    raise typer.Exit(serve_webhook(options, log_level, log_format))
