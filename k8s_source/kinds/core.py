"""Kinds of the core API group, `v1`: Service and Secret, as far as Tidegate uses them; further fields are accepted."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Annotated

from msgspec import Meta, Struct

from k8s_source.kinds.fault import Fault, join, refuse
from k8s_source.kinds.fields import EXPECTED, Label, Port
from k8s_source.kinds.meta import Manifest, ObjectMeta
from k8s_source.kinds.pem import belong_together, certificate_error, key_error

TLS_SECRET = "kubernetes.io/tls"  # noqa: S105 - the name of a type
"""The type of a Secret that holds a certificate and its key; Secrets of other types are not looked into."""

CERTIFICATE_KEY = "tls.crt"
PRIVATE_KEY_KEY = "tls.key"


class ServicePort(Struct, frozen=True, kw_only=True, rename="camel"):
    """A port of a Service. A `name` is needed only where there are several."""

    port: Port
    name: str | None = None
    protocol: str = "TCP"
    app_protocol: str | None = None


class ServiceSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a Service is."""

    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] | None = None
    ip_families: tuple[str, ...] | None = None
    external_name: str | None = None


class ServiceMeta(ObjectMeta, frozen=True, kw_only=True, rename="camel"):
    """`metadata` of a Service, whose name is a DNS label."""

    name: Label


class Service(Manifest, frozen=True, kw_only=True, rename="camel"):
    """A name for a set of endpoints, and its ports."""

    metadata: ServiceMeta
    spec: ServiceSpec = ServiceSpec()


SecretValues = Annotated[dict[str, str], Meta(extra={EXPECTED: "a mapping of texts"})]


class Secret(Manifest, frozen=True, kw_only=True, rename="camel"):
    """Bytes that are not to be shown: `data` in base64, `string_data` as they are (and first, where both have a key)."""

    type: str = "Opaque"
    data: SecretValues | None = None
    string_data: SecretValues | None = None

    def __repr__(self) -> str:
        """The identity only."""
        return f"Secret({self.metadata.namespace}/{self.metadata.name})"

    def __post_init__(self) -> None:
        """Judge the certificate and the key of a TLS Secret.

        Raises:
            FaultsError: One is missing or none, or they do not belong together.
        """
        if self.type == TLS_SECRET:
            refuse(_tls_faults(self))

    def value(self, key: str) -> bytes | None:
        """The bytes under a key; None where there are none.

        Raises:
            ValueError: They are not base64.
        """
        if self.string_data is not None and key in self.string_data:
            return self.string_data[key].encode()
        if self.data is None or key not in self.data:
            return None
        # As Kubernetes reads it: line breaks do not count.
        return b64decode(self.data[key].replace("\n", "").replace("\r", ""), validate=True)

    def place(self, key: str) -> str:
        """The path of the field that a key's value is read from."""
        return join("stringData" if key in (self.string_data or ()) else "data", key)


def _tls_faults(secret: Secret) -> Iterator[Fault]:
    chain, wrong_chain = _read(secret, CERTIFICATE_KEY, certificate_error)
    key, wrong_key = _read(secret, PRIVATE_KEY_KEY, key_error)
    yield from (each for each in (wrong_chain, wrong_key) if each is not None)
    if wrong_chain is wrong_key is None and not belong_together(chain, key):
        message = f"expected the key of the first certificate in {secret.place(CERTIFICATE_KEY)}, found another"
        yield Fault(secret.place(PRIVATE_KEY_KEY), "Mismatch", message)


def _read(secret: Secret, key: str, judge: Callable[[bytes], str]) -> tuple[bytes, Fault | None]:
    """The value under a key, and what is wrong with it."""
    try:
        value = secret.value(key)
    except ValueError:
        return b"", Fault(secret.place(key), "InvalidValue", "expected base64 text, found another text")
    if not value:
        return b"", Fault(secret.place(key), "MissingField", f"missing; a Secret of type {TLS_SECRET} needs it")
    wrong = judge(value)
    return value, Fault(secret.place(key), "InvalidValue", wrong) if wrong else None
