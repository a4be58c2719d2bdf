"""Connections to the brokers of one cluster, at most one to each, with the cause when there is none.

aiokafka's admin client and consumer are not used: they drop error codes of answers, tell why a connection failed only in
the log, wait behind one lock for whichever broker hangs, and name topics in requests that may create them. Its
connections do none of that.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterable
from typing import Any

from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from observers.kafka_lag.options import Security
from observers.sampler import TargetError

Address = tuple[str, int]

_LOGIN = (
    SaslAuthenticationFailed,
    AuthenticationFailedError,
    UnsupportedSaslMechanismError,
    ssl.SSLCertVerificationError,
)

IDLE = 540.0
"""Seconds after which a connection that nothing is asked on is closed; below the broker's own 10 minutes."""

CLOSING = 0.5
"""Seconds that connections have at the end to say goodbye (TLS does)."""


class Connections:
    """All calls are made on the event loop; every await may be cancelled, and cancelling one closes its connection."""

    def __init__(self, security: Security, timeout: float) -> None:
        """No connection is made before the first `ask`; `timeout` (seconds) bounds each connect and each answer."""
        self._security = security
        self._timeout = int(timeout * 1000)
        self._open: dict[Address, Any] = {}
        self._locks: dict[Address, asyncio.Lock] = {}
        self._failed: dict[Address, TargetError] = {}
        self._closing: set[asyncio.Future[None]] = set()

    def begin(self) -> None:
        """A new round: brokers that could not be reached in the last one are tried again, once for all who ask."""
        self._failed.clear()

    async def ask(self, address: Address, request: Any) -> Any:
        """The broker's answer.

        Raises:
            TargetError: there is no connection, or no answer.
        """
        connection = await self._connected(address)
        try:
            sent = connection.send(request)
        except (KafkaError, NotImplementedError) as error:
            raise TargetError("unsupported", f"{_text(address)}: {_cause(error)}") from error
        answered = False
        try:
            answer = await sent
            answered = True
        except (KafkaError, TimeoutError, OSError) as error:
            raise TargetError("unreachable", f"{_text(address)}: {_cause(error)}") from error
        finally:
            if not answered:
                self._drop(address, connection)
        return answer

    def keep_only(self, addresses: Iterable[Address]) -> None:
        """Close the connections to all others."""
        kept = set(addresses)
        for address in [each for each in self._open if each not in kept]:
            self._drop(address, self._open[address])
        self._locks = {address: lock for address, lock in self._locks.items() if address in kept}

    async def close(self) -> None:
        """Close all; a broker that hangs is not waited for."""
        self.keep_only(())
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSING)

    def __len__(self) -> int:
        """How many are open."""
        return sum(bool(each.connected()) for each in self._open.values())

    async def _connected(self, address: Address) -> Any:
        async with self._locks.setdefault(address, asyncio.Lock()):
            connection = self._open.get(address)
            if connection is not None and connection.connected():
                return connection
            if address in self._failed:
                known = self._failed[address]
                raise TargetError(known.state, str(known))
            try:
                connection = await self._connect(address)
            except TargetError as error:
                self._failed[address] = error
                raise
            self._open[address] = connection
            return connection

    async def _connect(self, address: Address) -> Any:
        arguments = await asyncio.to_thread(self._security.arguments)
        host, port = address
        try:
            return await create_conn(
                host,
                port,
                client_id="tidegate",
                request_timeout_ms=self._timeout,
                max_idle_ms=int(IDLE * 1000),
                **arguments,
            )
        except (KafkaError, TimeoutError, OSError, EOFError, ValueError) as error:
            state = "login" if isinstance(error, _LOGIN) else "unreachable"
            raise TargetError(state, f"{_text(address)}: {_cause(error)}") from error

    def _drop(self, address: Address, connection: Any) -> None:
        if self._open.get(address) is connection:
            del self._open[address]
        closed = connection.close()
        self._closing.add(closed)
        closed.add_done_callback(self._closing.discard)


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def _cause(error: BaseException) -> str:
    """The innermost cause in words; what libraries wrap it in says less."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is refused: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, EOFError | ConnectionResetError):
        return "the broker closed the connection (is the protocol right for this port?)"
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else error.strerror or str(error)
    return str(error).split("] ", 1)[-1] or type(error).__name__
