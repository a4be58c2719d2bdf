"""`tidegate webhook`: from options to a server that runs until a signal comes."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import structlog
import uvloop

from k8s_source.client.api import Api
from k8s_source.client.connect import Connection, connect
from k8s_source.kinds.fields import Duration, seconds
from k8s_source.webhooks.files import CertificateFiles
from k8s_source.webhooks.keeper import Keeper
from k8s_source.webhooks.rotation import Terms
from k8s_source.webhooks.server import WebhookServer
from k8s_source.webhooks.service import WebhookService, kept_in_files, kept_in_secret
from k8s_source.webhooks.teller import Place, Teller
from xds_server.settings.address import Address
from xds_server.telemetry.logs import configure
from xds_server.telemetry.metrics import Metrics
from xds_server.telemetry.names_webhook import EXPIRES

NAMESPACE = "tidegate-system"
"""Where it is, where nothing says so."""

_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_SETTLE = timedelta(minutes=5)
"""How long a new authority is made known before anybody is served with its certificate."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for, as it was written."""

    address: str
    cert: Path | None
    key: Path | None
    ca: Path | None
    service: str
    namespace: str | None
    secret: str
    url: str | None
    certificate_life: str
    kubeconfig: Path | None
    context: str


def serve_webhook(options: Options, log_level: str, log_format: str) -> int:
    """Serve until a signal comes. Gives the exit code."""
    try:
        address, place = _address(options.address), _place(options)
        terms = _terms(options, place)
    except ValueError as error:
        print(f"tidegate: {error}", file=sys.stderr)
        return 1
    configure(log_level, log_format)
    try:
        uvloop.run(_serve(options, address, place, terms))
    except OSError as error:
        print(f"tidegate: --address {address}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


async def _serve(options: Options, address: Address, place: Place, terms: Terms) -> None:
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    api = connect(Connection(options.kubeconfig, options.context, f"tidegate-webhook/{version('tidegate')}"))
    metrics = Metrics(version("tidegate"))
    service = _service(options, api, place, terms, metrics)
    metrics.observe(EXPIRES, lambda: [] if service.expires is None else [((), service.expires)])
    try:
        _log.info("listening", webhook=await service.start(address.host, address.port))
        running = asyncio.create_task(service.run())
        await asyncio.wait({running, asyncio.create_task(stopping.wait())}, return_when=asyncio.FIRST_COMPLETED)
        _log.info("stopping")
        await service.stop()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        _log.info("stopped")
    finally:
        await api.close()
        metrics.close()


def _service(options: Options, api: Api, place: Place, terms: Terms, metrics: Metrics) -> WebhookService:
    server = WebhookServer(metrics)
    teller = Teller(api, place)
    if options.cert is not None and options.key is not None:
        files = CertificateFiles(options.cert, options.key, options.ca)
        return WebhookService(server, kept_in_files(files), teller)
    interval = min(10.0, terms.settle.total_seconds() / 5)
    keeper = Keeper(api, place.namespace, options.secret, terms)
    return WebhookService(server, kept_in_secret(keeper), teller, interval)


def _address(text: str) -> Address:
    try:
        return Address(text)
    except ValueError as error:
        raise ValueError(f"--address: {error}, found {text!r}") from error


def _place(options: Options) -> Place:
    """Where the API server finds us.

    Raises:
        ValueError: An option is none, or lacks another one.
    """
    if (options.cert is None) != (options.key is None):
        raise ValueError("--cert and --key go together")
    if options.ca is not None and options.cert is None:
        raise ValueError("--ca is the authority of --cert")
    namespace = options.namespace or _own_namespace()
    if options.url is None:
        return Place(namespace, options.service)
    if not _is_base(options.url):
        raise ValueError(f"--url: expected https://HOST:PORT, found {options.url!r}")
    return Place(namespace, url=options.url.rstrip("/"))


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        known = parts.scheme == "https" and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return bool(known) and not (parts.path.strip("/") or parts.query or parts.fragment)


def _terms(options: Options, place: Place) -> Terms:
    """How long certificates last, and for which names.

    Raises:
        ValueError: The life is no duration, or none that leaves time for a successor.
    """
    try:
        life = timedelta(seconds=seconds(msgspec.convert(options.certificate_life, Duration)))
    except (msgspec.ValidationError, OverflowError) as error:
        found = options.certificate_life
        raise ValueError(f"--certificate-life: expected a duration such as 2160h, found {found!r}") from error
    if not timedelta(seconds=10) <= life <= timedelta(days=3650):
        raise ValueError(f"--certificate-life: expected 10s to 87600h, found {options.certificate_life}")
    host = urlsplit(place.url).hostname if place.url else None
    names = (host,) if host else tuple(f"{place.service}.{place.namespace}{end}" for end in (".svc", ""))
    return Terms(names, life, min(_SETTLE, life / 20))


def _own_namespace() -> str:
    try:
        return _OWN_NAMESPACE.read_text().strip() or NAMESPACE
    except OSError:
        return NAMESPACE
