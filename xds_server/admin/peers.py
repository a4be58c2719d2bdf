"""Asks the other replicas, each by a long poll at a time, what their Envoys have; `status.replicas` keeps what they tell."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
import msgspec
import structlog

from xds_server.admin.replica_shapes import Replica, report_of
from xds_server.status.replicas import Replicas, Report, Standing

WAIT = 2
"""Seconds after which a replica answers though nothing has changed: so it is known that it is there."""

PATIENCE = 2.0
"""Seconds beyond that until it counts as silent."""

_FIRST_REST, _LONGEST_REST = 0.1, 2.0
"""Seconds between two tries to reach a replica that does not answer; spread by a half either way."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Access:
    """How replicas are asked: with which bearer token ("": none), and whose certificates are believed, as they are now.

    `server_name` is the name in these, None for the host of the URL.
    """

    token: Callable[[], str]
    trust: Callable[[], ssl.SSLContext | None]
    server_name: str | None = None


class SilentError(Exception):
    """A replica can't be asked; the text says why, in a form that stays the same while it is so; `detail` is for the log.

    `is_slow` tells that to try again at once is of no use, `is_down` that nothing listens there.
    """

    def __init__(self, problem: str, detail: str = "", *, is_slow: bool = False, is_down: bool = False) -> None:
        super().__init__(problem)
        self.detail = detail
        self.is_slow = is_slow
        self.is_down = is_down


class Peers:
    """One task for each address that is expected, from `run` on."""

    def __init__(self, replicas: Replicas, access: Access) -> None:
        """Hand what is told to `replicas`."""
        self._replicas = replicas
        self._access = access
        self._wanted = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def expect(self, addresses: Mapping[str, str], starting: Collection[str] = ()) -> None:
        """Ask at these URLs from now on, and no others; the values name who is there. `starting` are not ready."""
        self._replicas.expect(addresses, starting)
        self._wanted.set()

    async def run(self) -> None:
        """Ask until cancelled."""
        timeout = aiohttp.ClientTimeout(total=WAIT + PATIENCE, connect=PATIENCE)
        # Replicas are asked directly: a proxy of the environment is for the outside.
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session, asyncio.TaskGroup() as tasks:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                wanted = self._replicas.peers.keys()
                for address in self._tasks.keys() - wanted:
                    self._tasks.pop(address).cancel()
                for address in wanted - self._tasks.keys():
                    self._tasks[address] = tasks.create_task(self._follow(session, address))

    async def _follow(self, session: aiohttp.ClientSession, address: str) -> None:
        """Ask at one address again and again, until we find ourselves there."""
        seen, rest, is_sure = ("", 0), _FIRST_REST, False
        while True:
            try:
                report = await self._ask(session, address, *seen)
                self._take(address, report)
            except SilentError as silence:
                # A connection that was heard on and broke: it counts as silent when there is no new one either.
                if is_sure or silence.is_slow or not self._stands(address, Standing.HEARD):
                    self._lose(address, silence)
                    await asyncio.sleep(rest * random.uniform(0.5, 1.5))  # noqa: S311 - it spreads tries
                    rest = min(2 * rest, _LONGEST_REST)
                is_sure = True
                continue
            except Exception:  # noqa: BLE001 - a fault of ours must not end what is served, nor the asking
                _log.exception("replica_not_followed", address=address)
                self._lose(address, SilentError("what it told could not be taken in; see the log"))
                await asyncio.sleep(_LONGEST_REST)
                continue
            seen, rest, is_sure = (report.instance, report.seq), _FIRST_REST, False
            if self._stands(address, Standing.OURSELVES):
                return
            if report.leaving:
                await asyncio.sleep(_FIRST_REST)

    async def _ask(self, session: aiohttp.ClientSession, address: str, instance: str, after: int) -> Report:
        query = {"instance": instance, "after": str(after), "wait": str(WAIT)}
        trust, token = self._access.trust() or True, self._access.token()
        try:
            async with session.get(
                f"{address}/v1/replica",
                params=query,
                headers={"Authorization": f"Bearer {token}"} if token else {},
                ssl=trust,
                server_hostname=self._access.server_name,
                allow_redirects=False,
            ) as response:
                body = await response.read()
                if response.status != HTTPStatus.OK:
                    raise SilentError(f"it answers {response.status} {response.reason}", is_slow=True)
            return report_of(msgspec.json.decode(body, type=Replica))
        except TimeoutError:
            raise SilentError("it does not answer", is_slow=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _silence(error) from error

    def _take(self, address: str, report: Report) -> None:
        was_heard = self._stands(address, Standing.HEARD)
        self._replicas.take(address, report)
        if not was_heard and self._stands(address, Standing.HEARD):
            _log.info("replica_heard", replica=report.replica, address=address)

    def _lose(self, address: str, silence: SilentError) -> None:
        if self._stands(address, Standing.HEARD):
            name = self._replicas.peers[address].name
            _log.warning("replica_silent", replica=name, address=address, error=str(silence), detail=silence.detail)
        self._replicas.lost(address, str(silence), is_down=silence.is_down)

    def _stands(self, address: str, standing: Standing) -> bool:
        peer = self._replicas.peers.get(address)
        return peer is not None and peer.standing is standing


def _silence(error: Exception) -> SilentError:
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, msgspec.MsgspecError):
        return SilentError("it answers something else than a replica does", detail)
    is_down = isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError)
    if isinstance(error, aiohttp.ClientSSLError):
        return SilentError("its certificate is not believed, or it speaks no TLS", detail)
    return SilentError("it can't be reached", detail, is_down=is_down)
