"""The section `xds`: the gRPC address that Envoys connect to, its limits, its timing, and who may ask."""

from __future__ import annotations

from typing import Self

from pydantic import ByteSize, model_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.address import Address
from xds_server.settings.base import Section, Tls
from xds_server.settings.units import Count, Duration, Filename, Interval, Size


class Coalesce(Section):
    """How long changes are gathered before they become one new snapshot."""

    quiet: Duration = 0.010
    """A snapshot is made when nothing has changed for so long."""
    max: Duration = 0.100
    """And at the latest so long after the first change."""


class Client(Section):
    """One rule of who may ask for what; `spiffe`, `subject` and `token_file` are ways to be known."""

    spiffe: str | None = None
    """SPIFFE ID in the client's certificate, for example spiffe://example.org/edge."""
    subject: str | None = None
    """Subject of the client's certificate."""
    token_file: Filename | None = None
    """File with the bearer token that the client sends."""
    groups: tuple[str, ...] = ()
    """Groups that the client may be given."""

    @model_validator(mode="after")
    def _is_known_by_something(self) -> Self:
        if self.spiffe or self.subject or self.token_file:
            return self
        raise PydanticCustomError("expected", "one of spiffe, subject and token_file")


class TokenReview(Section):
    """Bearer tokens that the Kubernetes API server is asked about."""

    audience: str
    """Audience that a token must be meant for."""


class Auth(Section):
    """Who may connect; without it everybody who reaches the address may."""

    clients: tuple[Client, ...] = ()
    """Rules, the first that fits counts."""
    token_review: TokenReview | None = None
    """Have service account tokens checked by Kubernetes."""


class Xds(Section):
    """The xDS server."""

    address: Address = Address("127.0.0.1:18000")
    """Where to listen for gRPC; port 0 means any free port."""
    tls: Tls | None = None
    """Serve with TLS; without it, in plain text."""
    advertise: Address | None = None
    """The address that Envoys made by Tidegate are told to connect to."""
    max_streams: Count = 20_000
    """Streams that are open at the same time; more are refused."""
    max_connection_age: Duration = 0.0
    """Connections are ended gracefully after so long, so that clients spread anew over replicas; 0: never."""
    max_request_bytes: Size = ByteSize(16 * 1024 * 1024)
    """A larger request is refused."""
    max_names: Count = 100_000
    """Names that one stream may ask for, for each type."""
    coalesce: Coalesce = Coalesce()
    """How changes are gathered."""
    order_timeout: Interval = 5.0
    """How long a route or listener waits for a silent node to take the clusters that it needs."""
    removal_timeout: Interval = 15.0
    """How long a removal waits for a silent node to take the routes that stopped using the resource."""
    auth: Auth | None = None
    """Who may connect."""
