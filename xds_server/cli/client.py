"""Asks the admin API, and turns what goes wrong into one line."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

_PATIENCE = 30.0
"""Seconds until an answer must have begun."""


class AdminError(Exception):
    """The admin API can't be reached, or answers with an error; the text is for people."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the admin API is, the file with the token to show, and the file with the authority to trust.

    The URL may be `host:port` for short; without `ca` the system's authorities count.
    """

    url: str
    token_file: Path | None = None
    ca: Path | None = None


class _NoRedirects(HTTPRedirectHandler):
    """The API redirects nobody, and a token must not follow a stranger's redirect."""

    def redirect_request(self, *_: object) -> None:
        """Follow none; the redirect is told as an error."""


class Client:
    """The admin API at one URL. Proxies of the environment are not used: the API is an internal one."""

    def __init__(self, access: Access) -> None:
        """Read the token and the authority.

        Raises:
            AdminError: The URL is none, or a file can't be used.
        """
        url = access.url
        self._url = (url if "//" in url else f"http://{url}").rstrip("/")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise AdminError(f"found {url!r}, expected the admin API's URL, such as http://127.0.0.1:19000")
        secure = HTTPSHandler(context=_context(access.ca))
        self._opener: OpenerDirector = build_opener(ProxyHandler({}), secure, _NoRedirects())
        token = _token(access.token_file)
        if token:
            self._opener.addheaders = [("Authorization", f"Bearer {token}")]

    def get(self, *path: str, query: Mapping[str, str | None] | None = None) -> bytes:
        """The JSON at a path of these segments.

        Raises:
            AdminError: It can't be had.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = "/".join([self._url, *(quote(segment, safe="") for segment in path)])
        url += f"?{urlencode(given)}" if given else ""
        return self._ask(Request(url))  # noqa: S310 - the scheme was checked

    def lines(
        self, *path: str, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """The lines of an endless answer as they come, until it ends; silence of `_PATIENCE` seconds ends it, too.

        Raises:
            AdminError: It can't be had, or breaks off.
        """
        url = "/".join([self._url, *(quote(segment, safe="") for segment in path)])
        url += f"?{urlencode(query)}" if query else ""
        request = Request(url, headers=dict(headers or {}))  # noqa: S310 - the scheme was checked
        try:
            with self._opener.open(request, timeout=_PATIENCE) as response:
                for line in response:
                    yield line.decode(errors="replace").rstrip("\r\n")
        except (HTTPError, URLError, OSError, HTTPException) as error:
            raise self._failed(error) from None

    def send(self, method: str, *path: str, body: Mapping[str, object]) -> bytes:
        """Send JSON to a path of these segments; the JSON of the answer.

        Raises:
            AdminError: It is refused, or the API can't be reached.
        """
        url = "/".join([self._url, *(quote(segment, safe="") for segment in path)])
        headers = {"Content-Type": "application/json"}
        return self._ask(Request(url, json.dumps(body).encode(), headers, method=method))  # noqa: S310 - as above

    def _ask(self, request: Request) -> bytes:
        try:
            with self._opener.open(request, timeout=_PATIENCE) as response:
                body: bytes = response.read()
        except (HTTPError, URLError, OSError, HTTPException) as error:
            raise self._failed(error) from None
        return body

    def _failed(self, error: OSError | HTTPException) -> AdminError:
        if isinstance(error, HTTPError):
            return AdminError(_told(error))
        cause = error.reason if isinstance(error, URLError) else error
        why = getattr(cause, "strerror", None) or cause or type(error).__name__
        return AdminError(f"the admin API at {self._url} can't be reached: {why}{self._hint(cause)}")

    def _hint(self, cause: object) -> str:
        """That the other scheme was meant, where it looks so."""
        if isinstance(cause, ConnectionError | BadStatusLine) and not isinstance(cause, ConnectionRefusedError):
            return " (it may speak TLS: try https://)" if self._url.startswith("http:") else ""
        is_plain = isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER"
        return " (it speaks no TLS: try http://)" if is_plain else ""


def _context(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise AdminError(f"--ca: {ca} holds no certificate that can be read: {error.strerror or error}") from None


def _token(path: Path | None) -> str:
    """The first token of a file; with two of them the server takes either."""
    if path is None:
        return ""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise AdminError(f"--token-file: {path} can't be read: {getattr(error, 'strerror', 'no text')}") from None
    if not lines or not (lines[0].isascii() and lines[0].isprintable()):
        raise AdminError(f"--token-file: {path} holds no token")
    return lines[0]


def decoded(body: bytes) -> Any:
    """An answer's JSON as Python values.

    Raises:
        AdminError: It is no JSON, so it was not the admin API that answered.
    """
    try:
        return json.loads(body)
    except ValueError:
        raise AdminError("the answer is no JSON; is this the address of the admin API?") from None


def _told(error: HTTPError) -> str:
    """What a problem document says, or the bare status."""
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"the admin API answered {error.code} {error.reason}"
