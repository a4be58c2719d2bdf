"""The section `observers`: what is measured outside, and how often."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.address import Address
from xds_server.settings.base import Section
from xds_server.settings.plugins import plug_ins
from xds_server.settings.units import Count, Filename, Interval

GROUP = "tidegate.observers"


def _url(value: str) -> str:
    try:
        url = urlsplit(value)
        is_usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        raise PydanticCustomError("expected", _A_URL) from None
    if not is_usable or url.username is not None or url.query or url.fragment:
        raise PydanticCustomError("expected", _A_URL)
    return value


_A_URL = "a URL such as http://prometheus:9090, without user, password and query"


PORT = 9092
"""Kafka's own port, where an address names none."""


def _broker(text: str) -> Address:
    named = text.strip()
    return Address(named if named.rpartition("]")[2].count(":") else f"{named}:{PORT}")


def _brokers(value: str) -> str:
    try:
        reachable = all(_broker(each).port for each in value.split(","))
    except ValueError:
        reachable = False
    if reachable:
        return value
    raise PydanticCustomError("expected", "host:port of a broker, several separated by commas")


class Breaker(Section):
    """When a failing target is left alone for a while."""

    failures: Count = 5
    """Failures in a row after which it is left alone."""
    reset: Interval = 30.0
    """How long it is left alone before it is tried again."""


class Sampling(Section):
    """How a target is asked."""

    interval: Interval = 5.0
    """Time between two samples."""
    timeout: Interval = 3.0
    """A sample that takes longer has failed."""
    ttl: Interval = 15.0
    """An older value is unknown. At least `interval`; better `interval` and `timeout` together, and some more."""
    breaker: Breaker = Breaker()
    """When a failing target is left alone."""

    @model_validator(mode="after")
    def _outlives_its_interval(self) -> Self:
        if self.ttl < self.interval:
            # Each value would be unknown for a while before the next one comes.
            message = (
                f"a ttl of at least interval ({self.interval:g}s), better interval + timeout; ttl is {self.ttl:g}s"
            )
            raise PydanticCustomError("expected", message)
        return self


class KafkaSecurity(Section):
    """How to log in to a Kafka cluster; the files are read at each connection."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """What the brokers' listener speaks, in Kafka's words."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """How the password is proved; only with SASL. OAUTHBEARER and GSSAPI are not supported."""
    username: Annotated[str, Field(min_length=1)] | None = None
    """User; needed with SASL."""
    password_file: Filename | None = None
    """File with the password; this or `password` is needed with SASL."""
    password: SecretStr | None = None
    """The password itself; better kept in a file."""
    ca: Filename | None = None
    """PEM file with the authorities of the brokers' certificates; none: those of the system."""
    cert: Filename | None = None
    """PEM file with a certificate chain to show to the brokers."""
    key: Filename | None = None
    """PEM file with its private key."""
    check_hostname: bool = True
    """The brokers' certificates must name their hosts."""

    @model_validator(mode="after")
    def _fits_the_protocol(self) -> Self:
        if fault := _login_fault(self) or _tls_fault(self):
            raise PydanticCustomError("expected", fault)
        return self


def _login_fault(security: KafkaSecurity) -> str:
    given = security.model_fields_set & {"mechanism", "username", "password", "password_file"}
    if not security.protocol.startswith("SASL_"):
        return f"protocol SASL_SSL or SASL_PLAINTEXT with {min(given)}" if given else ""
    if security.username is None or (security.password is None) == (security.password_file is None):
        return f"username and one of password_file, password with protocol {security.protocol}"
    return ""


def _tls_fault(security: KafkaSecurity) -> str:
    given = security.model_fields_set & {"ca", "cert", "key", "check_hostname"}
    if given and not security.protocol.endswith("SSL"):
        return f"protocol SSL or SASL_SSL with {min(given)}"
    return "cert and key together" if (security.cert is None) != (security.key is None) else ""


class KafkaCluster(Section):
    """One Kafka cluster."""

    bootstrap: Annotated[str, Field(min_length=1), AfterValidator(_brokers)]
    """Brokers to start from: host:port, several separated by commas; without a port 9092 is meant."""
    security: KafkaSecurity = KafkaSecurity()
    """How to log in."""
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    """Whether records of open transactions count (as in Kafka's own tools), or not (`read_committed`)."""

    @property
    def brokers(self) -> list[Address]:
        """`bootstrap`, taken apart."""
        return [_broker(each) for each in self.bootstrap.split(",")]


class Kafka(Sampling):
    """Consumer lag from Kafka."""

    clusters: dict[str, KafkaCluster] = Field(default_factory=dict)
    """Clusters by the name that a route uses; a route that names none means `default`."""
    stall_samples: Count = 6
    """A group is told as stalled after so many samples with more records and no new commit."""


class PrometheusSecurity(Section):
    """How to log in to a Prometheus; the files are read anew when they change."""

    token_file: Filename | None = None
    """File with a bearer token."""
    token: SecretStr | None = None
    """The bearer token itself; better kept in a file."""
    username: Annotated[str, Field(min_length=1, pattern="^[^:]*$")] | None = None
    """User, for basic authentication."""
    password_file: Filename | None = None
    """File with the password; this or `password` is needed with `username`."""
    password: SecretStr | None = None
    """The password itself; better kept in a file."""
    ca: Filename | None = None
    """PEM file with the authorities of the server's certificate; none: those of the system."""
    cert: Filename | None = None
    """PEM file with a certificate chain to show to the server."""
    key: Filename | None = None
    """PEM file with its private key."""
    check_hostname: bool = True
    """The server's certificate must name its host."""

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        token, password = (self.token, self.token_file), (self.password, self.password_file)
        if self.username is not None or any(password):
            if self.username is None or all(password) or not any(password):
                raise PydanticCustomError("expected", "username and one of password_file, password")
            if any(token):
                raise PydanticCustomError("expected", "a token or username, not both")
        if all(token):
            raise PydanticCustomError("expected", "one of token_file, token")
        if (self.cert is None) != (self.key is None):
            raise PydanticCustomError("expected", "cert and key together")
        return self


class Prometheus(Sampling):
    """Values from Prometheus queries."""

    url: Annotated[str, AfterValidator(_url)]
    """Base URL of the Prometheus API: what comes before `/api/v1/query`."""
    security: PrometheusSecurity = PrometheusSecurity()
    """How to log in."""
    max_age: Interval = 60.0
    """A value whose own time is longer ago, by the server's clock, is unknown."""
    concurrency: Count = 4
    """Queries that are under way at one time, at most."""

    @model_validator(mode="after")
    def _fits_its_url(self) -> Self:
        given = self.security.model_fields_set & {"ca", "cert", "key", "check_hostname"}
        if given and not self.url.startswith("https:"):
            raise PydanticCustomError("expected", f"a URL that begins with https:// with security.{min(given)}")
        return self


class Observers(Section):
    """The samplers. Further keys are the names of plug-ins (entry points `tidegate.observers`)."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, object]]

    kafka: Kafka | None = None
    """Sample Kafka consumer lag."""
    prometheus: Prometheus | None = None
    """Sample Prometheus."""

    @property
    def plug_ins(self) -> dict[str, dict[str, object]]:
        """The settings of plug-ins by name, as they were written."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _knows_its_plug_ins(self) -> Self:
        known = sorted({*type(self).model_fields, *plug_ins(GROUP)})
        for key in self.__pydantic_extra__:
            if key not in known:
                raise PydanticCustomError("unknown_key", "unknown key", {"key": key, "known": known})
        return self
