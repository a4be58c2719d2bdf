"""The section `xds`: the gRPC address that Envoys connect to, its limits, its timing, and who may ask."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, ByteSize, Field, model_validator
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


ACCOUNT = "system:serviceaccount:"
"""How a `subject` begins that is no certificate's: the user name of a ServiceAccount."""


def _spiffe_id(text: str) -> str:
    if not re.fullmatch(r"spiffe://[a-z0-9._-]+(/[A-Za-z0-9._-]+)*", text):
        raise PydanticCustomError("expected", "a SPIFFE ID as spiffe://TRUST_DOMAIN/PATH (SPIFFE-ID, section 2)")
    return text


def _subject(text: str) -> str:
    if text.startswith(ACCOUNT) and not re.fullmatch(r"[a-z0-9-]+:[a-z0-9.-]+", text.removeprefix(ACCOUNT)):
        raise PydanticCustomError("expected", "a ServiceAccount as system:serviceaccount:NAMESPACE:NAME")
    return text


class Client(Section):
    """One client, or several alike; it is known by `spiffe`, `subject` and `token_file`, all that are given."""

    spiffe: Annotated[str, AfterValidator(_spiffe_id)] | None = None
    """SPIFFE ID in the client's certificate, for example spiffe://example.org/edge."""
    subject: Annotated[str, Field(min_length=1), AfterValidator(_subject)] | None = None
    """Subject of the client's certificate as RFC 2253 writes it, for example CN=edge-1,O=Example; or a ServiceAccount whose token the client sends (`token_review`), as system:serviceaccount:NAMESPACE:NAME."""
    token_file: Filename | None = None
    """File with the bearer token that the client sends; with several, one a line, any of them will do."""
    groups: tuple[str, ...] = ()
    """Groups that the client may be given, as names or patterns (`*`, `?`, `[…]`)."""

    @property
    def account(self) -> str:
        """The ServiceAccount that it must be, "" where it need not be one."""
        return self.subject if self.subject is not None and self.subject.startswith(ACCOUNT) else ""

    @property
    def names_certificate(self) -> bool:
        """Whether it is known by a certificate."""
        return bool(self.spiffe or (self.subject and not self.account))

    @model_validator(mode="after")
    def _is_known_by_something(self) -> Self:
        if self.spiffe or self.subject or self.token_file:
            return self
        raise PydanticCustomError("expected", "one of spiffe, subject and token_file")


class TokenReview(Section):
    """Bearer tokens that the API server of the source of kind `kubernetes` is asked about."""

    audience: Annotated[str, Field(min_length=1)]
    """Audience that a token must be meant for."""


class Auth(Section):
    """Who may connect; without `clients` everybody who reaches the address may."""

    clients: tuple[Client, ...] = ()
    """Who may connect; the first entry that fits counts. A list without entries lets nobody in."""
    token_review: TokenReview | None = None
    """Have the tokens of ServiceAccounts checked by Kubernetes, for clients with such a `subject`."""

    @model_validator(mode="after")
    def _reviews_what_counts(self) -> Self:
        if self.token_review is None and any(each.account for each in self.clients):
            raise PydanticCustomError("expected", "xds.auth.token_review, since xds.auth.clients names ServiceAccounts")
        return self


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
    max_request_rate: Count = 1000
    """Requests a second on one stream, ten times as many at once; what only answers a response does not count."""
    coalesce: Coalesce = Coalesce()
    """How changes are gathered."""
    order_timeout: Interval = 5.0
    """How long a route or listener waits for a silent node to take the clusters that it needs."""
    removal_timeout: Interval = 15.0
    """How long a removal waits for a silent node to take the routes that stopped using the resource."""
    auth: Auth | None = None
    """Who may connect."""

    @model_validator(mode="after")
    def _asks_for_certificates_that_count(self) -> Self:
        by_certificate = self.auth is not None and any(each.names_certificate for each in self.auth.clients)
        if by_certificate and (self.tls is None or self.tls.client_ca is None):
            raise PydanticCustomError("expected", "xds.tls.client_ca, since xds.auth.clients names certificates")
        return self
