"""What the sampler must know of a Prometheus: where it is, how to log in, and how much may be asked at a time."""

from __future__ import annotations

import base64
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from observers.sampler import TargetError

_TOKEN = re.compile(r"[!-~]+")
"""What may stand behind `Bearer`: RFC 6750 allows less, but the server is the judge of that."""


@dataclass(frozen=True, slots=True)
class Security:
    """How to log in: by bearer token, or by name and password, or not at all. Secrets may lie in files."""

    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    check_hostname: bool = True


@dataclass(frozen=True, slots=True)
class Options:
    """One Prometheus. `url` is what comes before `/api/v1/query`; a value older than `max_age` (seconds) is none."""

    url: str
    security: Security = Security()
    max_age: float = 60.0
    concurrency: int = 4


class Login(NamedTuple):
    """What goes with a request. `context` True stands for the system's authorities."""

    headers: dict[str, str]
    context: ssl.SSLContext | bool


class Credentials:
    """Files, read at each round, so that they may be exchanged while all runs.

    The TLS context is made anew only when a file of it has changed: connections live as long as it does.
    """

    def __init__(self, options: Options) -> None:
        self._security = options.security
        self._is_tls = options.url.startswith("https:")
        self._seen: tuple[bytes, ...] | None = None
        self._context: ssl.SSLContext | bool = True

    def read(self) -> Login:
        """What is in force now. Blocks on the disk.

        Raises:
            TargetError: a file can't be read or used.
        """
        try:
            return Login(self._headers(), self._tls())
        except (OSError, UnicodeDecodeError) as error:  # ssl.SSLError is an OSError
            named = getattr(error, "filename", None)
            where = f" ({named})" if named else ""
            why = getattr(error, "strerror", None) or error
            raise TargetError("security", f"security: {why}{where}") from error

    def _headers(self) -> dict[str, str]:
        security = self._security
        token = _secret(security.token, security.token_file)
        if token is not None:
            if not _TOKEN.fullmatch(token):
                what = security.token_file or "token"
                raise TargetError("security", f"security: what {what} holds is no token: one word of ASCII is needed")
            return {"Authorization": f"Bearer {token}"}
        if security.username is None:
            return {}
        password = _secret(security.password, security.password_file) or ""
        both = base64.b64encode(f"{security.username}:{password}".encode()).decode()
        return {"Authorization": f"Basic {both}"}

    def _tls(self) -> ssl.SSLContext | bool:
        security = self._security
        if not self._is_tls:
            return True
        files = [each for each in (security.ca, security.cert, security.key) if each is not None]
        seen = tuple(each.read_bytes() for each in files)
        if seen != self._seen:
            self._context = _context(security)
            self._seen = seen
        return self._context


def _secret(given: str | None, file: Path | None) -> str | None:
    return given if file is None else file.read_text(encoding="utf-8").strip()


def _context(security: Security) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=security.ca)
    context.check_hostname = security.check_hostname
    if security.cert is not None:
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(security.cert, security.key, password=lambda: "")
    return context
