"""The API server: requests by resource, bytes in and bytes out, with typed errors and a time limit for everything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Literal, NamedTuple
from urllib.parse import urlencode

import aiohttp
import msgspec

from k8s_source.client.answers import error_of
from k8s_source.client.credentials import Credentials, Session
from k8s_source.client.errors import ApiError
from k8s_source.client.lines import Lines
from k8s_source.client.resource import Resource

Query = Sequence[tuple[str, str]]

CONNECT = 10.0
"""Seconds for a connection to stand, TLS included."""

TIMEOUT = 30.0
"""Seconds for a request by default, waiting as the server asks included."""

_PATCHES: Mapping[str, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
}
_APPLY = "application/apply-patch+yaml"
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""With `Retry-After` these say that nothing was done: API priority and fairness, and a server that starts or ends."""

_MOMENT = 0.001
"""Seconds: a limit of 0 would be none."""


class _Request(NamedTuple):
    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    content_type: str = ""

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


def nobody(*_: object) -> None:
    """Nobody wants to know."""


class Api:
    """One API server. All methods raise ApiError and nothing else; none waits longer than it is told to.

    `requested` is called with the method, the status (0: no answer) and the seconds of each request.
    """

    def __init__(
        self, credentials: Credentials, user_agent: str, requested: Callable[[str, int, float], None] = nobody
    ) -> None:
        self._credentials = credentials
        self._requested = requested
        self._headers = {"Accept": "application/json", "User-Agent": user_agent}

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - the limit holds for all attempts together, waits between them included
    ) -> bytes:
        """The body of the answer.

        A server that is busy and says when to come again is asked again, as long as that is within `timeout` seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        asked = _Request(method, path, query, body, content_type)
        while True:
            left = max(deadline - loop.time(), _MOMENT)
            limits = aiohttp.ClientTimeout(total=left, connect=min(CONNECT, left))
            try:
                async with self._answer(asked, limits) as answer:
                    return await answer.read()
            except ApiError as error:
                wait = error.retry_after
                if error.status not in _BUSY or wait is None or loop.time() + wait >= deadline:
                    raise
            await asyncio.sleep(wait)

    async def stream(
        self, path: str, *, query: Query = (), idle: float, opened: Callable[[], None] = nobody
    ) -> AsyncGenerator[bytes, None]:
        """The lines of an answer that goes on and on; ApiError of status 0 after `idle` seconds of silence.

        `opened` is called when the server has accepted, which may be long before the first line.
        Close it (`contextlib.aclosing`). What comes after the last end of a line is told as a line, too: half a line is none that can be decoded.
        """
        lines = Lines()
        limits = aiohttp.ClientTimeout(total=None, connect=min(CONNECT, idle), sock_read=idle)
        async with self._answer(_Request("GET", path, query), limits) as answer:
            opened()
            async for chunk in answer.content.iter_any():
                for line in lines.take(chunk):
                    yield line
            if rest := lines.rest():
                yield rest

    async def get(self, resource: Resource, namespace: str, name: str, subresource: str = "") -> bytes:
        """One object."""
        return await self.request("GET", resource.path(namespace, name, subresource))

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes:
        """Make an object; the one that was made."""
        return await self.request("POST", resource.path(namespace), body=body)

    async def update(self, resource: Resource, namespace: str, name: str, body: bytes, subresource: str = "") -> bytes:
        """Replace an object; with a resourceVersion in it a 409 tells that it has changed meanwhile."""
        return await self.request("PUT", resource.path(namespace, name, subresource), body=body)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        kind: Literal["json", "merge"],
        subresource: str = "",
    ) -> bytes:
        """Change an object by a JSON patch (RFC 6902) or a merge patch (RFC 7386)."""
        path = resource.path(namespace, name, subresource)
        return await self.request("PATCH", path, body=body, content_type=_PATCHES[kind])

    async def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
    ) -> bytes:
        """Server-side apply: `manager` owns exactly the fields of `body` afterwards. Without `force` others' stay theirs (409)."""
        query = (("fieldManager", manager), ("force", "true" if force else "false"))
        path = resource.path(namespace, name, subresource)
        return await self.request("PATCH", path, query=query, body=body, content_type=_APPLY)

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Delete an object; with `uid` only the one that has it (409 otherwise)."""
        body = msgspec.json.encode({"preconditions": {"uid": uid}}) if uid else None
        await self.request("DELETE", resource.path(namespace, name), body=body)

    async def close(self) -> None:
        """Close all connections; requests that run fail."""
        await self._credentials.close()

    @asynccontextmanager
    async def _answer(self, asked: _Request, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer of success. A refusal for who we are is tried once more when there are other credentials by now."""
        for last in (False, True):
            async with self._credentials.session() as session:
                with _transport_errors():
                    async with await self._counted(session, asked, limits) as answer:
                        if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                            with _cut_when_left(answer):
                                yield answer
                            return
                        error = error_of(answer.status, answer.headers, await answer.read())
                is_refused = error.status == HTTPStatus.UNAUTHORIZED
                if last or not is_refused or not await self._credentials.refused(session):
                    raise error

    async def _counted(
        self, session: Session, asked: _Request, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        began, status = time.monotonic(), 0
        try:
            answer = await self._sent(session, asked, limits)
            status = answer.status
        finally:
            self._requested(asked.method, status, time.monotonic() - began)
        return answer

    async def _sent(self, session: Session, asked: _Request, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        headers = dict(self._headers)
        if session.authorization:
            headers["Authorization"] = session.authorization
        if asked.body is not None:
            headers["Content-Type"] = asked.content_type
        rest = session.rest
        # The limits of a stream do not bound the wait for its head.
        async with asyncio.timeout(limits.total or TIMEOUT):
            return await rest.pool_manager.request(
                asked.method,
                session.base + asked.target,
                data=asked.body,
                headers=headers,
                timeout=limits,
                proxy=rest.proxy,
                proxy_headers=rest.proxy_headers,
                server_hostname=rest.server_hostname,
                allow_redirects=False,
            )


@contextmanager
def _cut_when_left(answer: aiohttp.ClientResponse) -> Iterator[None]:
    """An answer that is left before its end is cut: a frozen server would let an orderly end of TLS wait for ever."""
    try:
        yield
    finally:
        connection = answer.connection  # None at its end
        if connection is not None and connection.transport is not None:
            connection.transport.abort()


@contextmanager
def _transport_errors() -> Iterator[None]:
    """What the network does wrong, as an ApiError without a status."""
    try:
        yield
    except TimeoutError as error:
        raise ApiError(0, "Timeout", str(error) or "no answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise ApiError(0, type(error).__name__, str(error)) from error
