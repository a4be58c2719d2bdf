"""Which addresses are open to other machines without what would protect them."""

from __future__ import annotations

from collections.abc import Iterator

from xds_server.settings.address import Address
from xds_server.settings.root import Settings


def unprotected(settings: Settings) -> Iterator[tuple[str, Address]]:
    """The servers that listen beyond loopback with neither TLS nor anybody asked who it is, by name."""
    xds, admin = settings.xds, settings.admin
    asks = xds.auth is not None and "clients" in xds.auth.model_fields_set
    if not (xds.address.is_loopback or xds.tls or asks):
        yield "xds", xds.address
    if not (admin.address.is_loopback or admin.tls or admin.tokens.reader or admin.tokens.operator):
        yield "admin", admin.address


def tokens_in_plain_text(settings: Settings) -> Iterator[tuple[str, Address]]:
    """The servers that are sent tokens over a network without TLS, by name."""
    xds, admin = settings.xds, settings.admin
    by_token = xds.auth is not None and any(client.token_file or client.account for client in xds.auth.clients)
    if by_token and not (xds.address.is_loopback or xds.tls):
        yield "xds", xds.address
    if (admin.tokens.reader or admin.tokens.operator or settings.replicas.audience) and not (
        admin.address.is_loopback or admin.tls
    ):
        yield "admin", admin.address
