"""A server's certificate with its key, and the authorities of its clients, read from PEM files and proved to work."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from xds_server.credentials.watched import Credentials, Watched
from xds_server.settings.base import Tls


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The same as PEM (for gRPC) and as a context (for HTTP)."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None
    context: ssl.SSLContext = field(repr=False)


def watch_tls(credentials: Credentials, name: str, tls: Tls | None) -> Watched[ServerTls] | None:
    """The files of a section `tls`, under watch; None without one.

    Raises:
        CredentialError: they can't be used.
    """
    if tls is None:
        return None
    paths = [path for path in (tls.cert, tls.key, tls.client_ca) if path is not None]
    return credentials.watch(name, paths, lambda: read_tls(tls))


def read_tls(tls: Tls) -> ServerTls:
    """Read the files, and load them as a server does.

    Raises:
        ValueError: one can't be read, or they are no certificate with its key, or no authorities.
    """
    certificate, key = _read(tls.cert), _read(tls.key)
    client_ca = None if tls.client_ca is None else _read(tls.client_ca)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _load(context, tls.cert, tls.key)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(tls.client_ca)
        except ssl.SSLError as error:
            raise ValueError(f"{tls.client_ca} holds no certificate: {_reason(error)}") from error
    return ServerTls(certificate, key, client_ca, context)


def read_client(ca: Path | None, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """What a client trusts (without `ca` the system's authorities), and shows: its certificate and private key.

    Raises:
        ValueError: a file can't be read, or holds something else.
    """
    for path in (ca, *(pair or ())):
        if path is not None:
            _read(path)
    try:
        context = ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise ValueError(f"{ca} holds no certificate: {_reason(error)}") from error
    if pair is not None:
        _load(context, *pair)
    return context


def _load(context: ssl.SSLContext, cert: Path, key: Path) -> None:
    try:
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        msg = f"{cert} and {key} are no certificate chain with its private key: {_reason(error)}"
        raise ValueError(msg) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from error


def _reason(error: Exception) -> str:
    """OpenSSL's own word, as `KEY_VALUES_MISMATCH`; never a part of what was read."""
    return getattr(error, "reason", None) or "not PEM, or encrypted"
