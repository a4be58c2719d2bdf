"""Manifests as plain values, as the readers of files give them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from k8s_source.kinds.decode import decode_manifest
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

Body = dict[str, object]

FILE = Origin("files", "in.yaml", 1, 1)


def decoded(body: Body) -> Object:
    """The object of a manifest that is right."""
    found = decode_manifest(body, FILE, "default")
    assert isinstance(found, Object), found
    return found


def refused(body: Body) -> tuple[Problem, ...]:
    """What is wrong with a manifest that is wrong."""
    found = decode_manifest(body, FILE, "default")
    assert isinstance(found, tuple)
    assert found
    return found


def gateway(*routes: object, name: str = "shop", metadata: Body | None = None, **spec: object) -> Body:
    """A DynamicGateway with these routes."""
    return {
        "apiVersion": "gateway.tidegate.dev/v1alpha1",
        "kind": "DynamicGateway",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"routes": list(routes), **spec},
    }


def route(**fields: object) -> Body:
    """A route that is right, with these fields beside or instead."""
    return {"name": "cart", "path": "/cart", "backendService": "cart", **fields}


def watching(**fields: object) -> Body:
    """A route that watches the lag of a group, with these fields beside or instead."""
    watch: Body = {"degradeService": "basket", "kafkaConsumerGroup": "cart", "kafkaLagThreshold": 100}
    return route(**(watch | fields))


def service(name: str = "cart", *ports: Body, namespace: str = "default", **spec: Any) -> Body:
    """A Service, with one port 80 where no other is given."""
    spec = {"ports": list(ports) or [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def endpoint_slice(
    name: str,
    of: str,
    *addresses: object,
    ports: list[Body] | None = None,
    namespace: str = "default",
    **fields: object,
) -> Body:
    """A slice of a Service; a text among the addresses stands for an endpoint that is ready."""
    endpoints = [
        {"addresses": [each], "conditions": {"ready": True}} if isinstance(each, str) else each for each in addresses
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": of}},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"port": 8080}] if ports is None else ports,
        **fields,
    }


def tls_secret(chain: str, key: str, name: str = "shop-tls") -> Body:
    """A Secret of type kubernetes.io/tls."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": chain, "tls.key": key},
    }


@cache
def pair(which: str = "first") -> tuple[str, str]:
    """A certificate of its own authority and its key, PEM; the same for the same word."""
    key = ec.generate_private_key(ec.SECP256R1())
    return certificate(key, which), pem(key)


def pem(key: CertificateIssuerPrivateKeyTypes) -> str:
    """A private key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def certificate(key: CertificateIssuerPrivateKeyTypes, host: str) -> str:
    """A certificate for a host, signed by its own key, as PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    dated = builder.not_valid_before(start).not_valid_after(start + timedelta(days=3650))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else SHA256()
    return dated.sign(key, algorithm).public_bytes(Encoding.PEM).decode()
