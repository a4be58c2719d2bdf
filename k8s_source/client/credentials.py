"""Credentials that rotate: connections with what files and plug-ins say now, not with what they said at the start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.client.rest import RESTClientObject

from k8s_source.client.errors import ApiError

_log = structlog.stdlib.get_logger(__name__)

LOOK = 10.0
"""Seconds after which the files are looked at again. The kubelet replaces a token long before the old one ends."""

FORCED = 1.0
"""Seconds between two readings that refusals ask for: a plug-in is a program that may ask far away."""

READ_TIMEOUT = 30.0
"""Seconds for a reading: a plug-in may ask a person, or somebody who does not answer."""

_Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class Reading:
    """What was read: the library's configuration, the files it came from, and until when it is good (monotonic time)."""

    configuration: Configuration
    files: tuple[Path, ...] = ()
    expires: float | None = None


@dataclass(eq=False)
class Session:
    """A pool of connections with one set of credentials. A retired one closes when its last request has ended."""

    reading: Reading
    signature: _Signature
    rest: RESTClientObject
    identity: tuple[object, ...]
    users: int = 0
    retired: bool = False

    @property
    def authorization(self) -> str:
        """The header's value, "" for none."""
        return str(self.identity[0])

    @property
    def base(self) -> str:
        """The URL of the server, without a slash at its end."""
        return (self.reading.configuration.host or "").rstrip("/")


class Credentials:
    """The session of now. `read` reads configuration and credentials anew; it raises ApiError when it cannot."""

    def __init__(self, read: Callable[[], Awaitable[Reading]], now: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._now = now
        self._session: Session | None = None
        self._looked = 0.0
        self._reading = asyncio.Lock()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """The session to use now. Raises ApiError when there was none yet and none can be made."""
        session = await self._current()
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1
            await _close_unused(session)

    async def refused(self, session: Session) -> bool:
        """Read anew, since a request of `session` was refused; whether there is another session now."""
        async with self._reading:
            if self._session is session and self._now() - self._looked >= FORCED:
                await self._renew(session)
            return self._session is not session

    async def close(self) -> None:
        """Close all connections."""
        async with self._reading:
            session, self._session = self._session, None
        if session is not None:
            session.retired = True
            await session.rest.close()

    async def _current(self) -> Session:
        async with self._reading:
            if self._session is None:
                self._session = await self._made(())
            elif self._is_due(self._session):
                await self._renew(self._session)
            return self._session

    def _is_due(self, session: Session) -> bool:
        now, expires = self._now(), session.reading.expires
        if now - self._looked < LOOK:
            return False
        self._looked = now
        return _signature(session.reading.files) != session.signature or (expires is not None and now >= expires)

    async def _renew(self, old: Session) -> None:
        """Take what can be read now; while nothing can, the old session stays in use."""
        try:
            new = await self._made(old.reading.files)
        except ApiError as error:
            _log.warning("Kubernetes credentials cannot be read, the last ones stay in use", error=error.message)
            return
        if new.identity == old.identity:
            old.reading, old.signature = new.reading, new.signature
            await new.rest.close()
            return
        self._session, old.retired = new, True
        _log.info("Kubernetes credentials have been renewed")
        await _close_unused(old)

    async def _made(self, files: tuple[Path, ...]) -> Session:
        self._looked = self._now()
        before = _signature(files)
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                reading = await self._read()
        except TimeoutError as error:
            raise ApiError(0, "Credentials", f"not read within {READ_TIMEOUT:g} s: does a plug-in hang?") from error
        # As they were before: what changes while it is read counts as changed at the next look.
        signature = before if reading.files == files else _signature(reading.files)
        try:
            identity = _identity(reading.configuration)
            rest = RESTClientObject(reading.configuration)
        except OSError as error:  # ssl.SSLError is one: a certificate without its key, half a file
            raise ApiError(0, "Credentials", str(error)) from error
        return Session(reading, signature, rest, identity)


def _identity(configuration: Configuration) -> tuple[object, ...]:
    """What tells one session from another. Raises OSError."""
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    contents = (Path(each).read_bytes() if each else b"" for each in files)
    told = (configuration.host, configuration.proxy, configuration.tls_server_name, configuration.verify_ssl)
    return (_authorization(configuration), *told, *contents)


def _authorization(configuration: Configuration) -> str:
    # The last end of line of a file is no part of a token.
    return str(configuration.api_key.get("BearerToken", "")).strip()


def _signature(files: tuple[Path, ...]) -> _Signature:
    return tuple(map(_stamp, files))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


async def _close_unused(session: Session) -> None:
    if session.retired and not session.users:
        await session.rest.close()
