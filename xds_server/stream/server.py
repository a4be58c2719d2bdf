"""The xDS server: a gRPC server with the discovery services, health and reflection, from bind to graceful stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from xds_server.credentials.tls import ServerTls
from xds_server.credentials.watched import Credentials, Watched
from xds_server.status.audit import Audit
from xds_server.stream.auth import Authenticator
from xds_server.stream.context import Limits, StreamContext
from xds_server.stream.csds import ClientStatus
from xds_server.stream.doorkeeper import Door, Doorkeeper
from xds_server.stream.services import DiscoveryServices
from xds_server.stream.turned_away import TurnedAway
from xds_server.wire.csds import CSDS
from xds_server.wire.services import SERVICES, load_descriptors

_STORM = 100_000

LAST_WORDS_MS = 1_000
"""What an aged connection gets, after the word to go, before its stream is ended: the stream would never end itself."""

GRACE = 5.0
"""Seconds that streams get to end after a stop."""

HANDSHAKE_MS = 30_000
"""What a peer gets from connecting until TLS and HTTP/2 are set up; gRPC's own default is two minutes."""

IDLE_MS = 300_000
"""A connection without any call is ended after so long; every client of xDS has a stream."""

_REST = 0.5
"""Seconds that other calls get after the streams."""


class BindError(OSError):
    """The address can't be listened on."""


def _options(limits: Limits) -> list[tuple[str, int]]:
    """Channel options.

    Pings: Envoy and gRPC send keepalive pings at intervals of their own choosing, which gRPC's default treats as
    an attack (GOAWAY too_many_pings), so any interval is welcome; our own pings notice dead peers. A ping
    of gRPC's own (it measures the bandwidth) holds the keepalive ping up while it is on its way, so it has the same
    timeout: the default, a minute, was what a peer that died in the middle of an exchange took to be noticed.
    Age: gRPC spreads it by a tenth either way, so that clients that came together do not leave together.
    Handshakes, idleness: who connects and says nothing costs a descriptor until it is dropped.
    Channelz: nobody can ask it here, so nothing need be counted for it (600 bytes a connection).
    Pending requests: without room for a storm the C core cancels streams that the event loop has not taken up.
    """
    age = [
        ("grpc.max_connection_age_ms", int(limits.max_connection_age * 1000)),
        ("grpc.max_connection_age_grace_ms", LAST_WORDS_MS),
    ]
    return [
        *(age if limits.max_connection_age else ()),
        ("grpc.max_receive_message_length", limits.max_request_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", 64 * 1024),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        ("grpc.max_connection_idle_ms", IDLE_MS),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 0),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.ping_timeout_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_channelz", 0),
        ("grpc.server.max_pending_requests", _STORM),
        ("grpc.server.max_pending_requests_hard_limit", _STORM),
        ("grpc.so_reuseport", 0),
    ]


def _credentials(tls: Watched[ServerTls]) -> grpc.ServerCredentials:
    """Credentials that gRPC asks for anew at each handshake, in a thread of its own."""
    used = tls.value

    def newer() -> grpc.ServerCertificateConfiguration | None:
        """The certificates if they have changed since the last call; gRPC makes these calls one at a time."""
        nonlocal used
        if tls.value is used:
            return None
        used = tls.value
        return _configuration(used)

    needs_client = used.client_ca is not None
    first = _configuration(used)
    # The stubs leave out that None means "as before" (gRPC's documentation of the fetcher).
    return grpc.dynamic_ssl_server_credentials(first, newer, needs_client)  # type: ignore[arg-type]


def _configuration(tls: ServerTls) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(tls.key, tls.certificate)], tls.client_ca)


class Guest(Protocol):
    """A service that is no discovery service. It asks its callers by itself who they are: they are no nodes."""

    name: str

    def handler(self) -> grpc.GenericRpcHandler:
        """What answers its calls."""


class XdsServer:
    """The gRPC server of the control plane."""

    def __init__(
        self,
        shared: StreamContext,
        auth: Authenticator | None = None,
        tls: Watched[ServerTls] | None = None,
        audit: Audit | None = None,
        guests: Sequence[Guest] = (),
    ) -> None:
        """Serve what is `shared` to those whom `auth` knows (None: to everybody), in plain text without `tls`.

        `audit` is told whom it turns away from a group. `guests` are other services on the same port.
        """
        turned_away = TurnedAway(shared.meter, audit)
        self._services = DiscoveryServices(shared, turned_away)
        doorkeeper = Doorkeeper(
            auth or Authenticator(None, Credentials()),
            turned_away,
            (health.SERVICE_NAME, *(each.name for each in guests)),
        )
        self._server = grpc.aio.server(options=_options(shared.limits))
        door = Door(self._server, doorkeeper)
        self._tls = tls
        self._health = health.aio.HealthServicer()
        door.add_generic_rpc_handlers((*self._services.handlers(), ClientStatus(shared).handler()))
        door.add_generic_rpc_handlers(tuple(guest.handler() for guest in guests))
        # Of the server that they are given, generated functions call nothing but what a door has.
        health_pb2_grpc.add_HealthServicer_to_server(self._health, door)  # type: ignore[arg-type]
        load_descriptors()
        served = [*(service.name for service in SERVICES), CSDS, *(guest.name for guest in guests)]
        known = (health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflector = reflection.aio.ReflectionServicer((*served, *known))
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflector, door)  # type: ignore[no-untyped-call]
        self._names = ("", *served)

    async def start(self, address: str) -> str:
        """Listen on `host:port` (port 0: any free one); the real address.

        Raises:
            BindError: the address is taken or is not one of this machine.
        """
        host = address.rpartition(":")[0]
        try:
            if self._tls is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, _credentials(self._tls))
        except RuntimeError as error:
            msg = f"xds.address: can't listen on {address}: {error}"
            raise BindError(msg) from error
        await self.set_serving(serving=False)
        await self._server.start()
        return f"{host}:{port}"

    async def set_serving(self, *, serving: bool) -> None:
        """Tell gRPC health clients whether this server can be used."""
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in self._names:
            await self._health.set(name, status)

    async def stop(self) -> None:
        """End all streams so that clients reconnect elsewhere, then the server, within `GRACE` seconds."""
        await self._health.enter_graceful_shutdown()
        self._services.stop()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._server.stop(GRACE))  # Tells clients at once not to come back to this server.
            await self._services.ended(GRACE)
            # What is left are calls that do not end by themselves: health watches.
            await self._server.stop(_REST)
