"""What manifests are refused for is what Envoy refuses: regular expressions with their size, certificates with their keys.

Envoy would refuse all routes of a port, or all connections of a listener, for one that it does not take.
"""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from envoy.config.bootstrap.v3.bootstrap_pb2 import Bootstrap
from envoy.extensions.filters.http.router.v3.router_pb2 import Router
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import (
    HttpConnectionManager,
)
from envoy.extensions.transport_sockets.tls.v3.tls_pb2 import DownstreamTlsContext
from google.protobuf.message import Message

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.gateway_fields import PathType, path_error
from tests.support.binaries import envoy_command
from tests.unit.k8s_source.manifests import FILE, certificate, pem, tls_secret
from xds_server.ir.objects import Object
from xds_server.snapshot.preflight.envoy import EnvoyChecker

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

REGEXES = (
    "/[a-z]+/(?P<id>[0-9]{2,4})",
    "/" + "a" * 95,
    "/" + "a" * 96,
    "/[a-z]{1,48}",
    "/[a-z]{1,49}",
    r"/\p{Greek}{1,30}",
    "/[^/]{47}",
    "/[^/]{48}",
    "/é{92}",
    "/é{96}",
    "/(?i)[à-ü]{60}",
    r"/(?i)cart|/(?s:.)\d",
    "/(?=cart)",
    r"/(a)\1",
    "/(a",
    "/a{1001}",
    "/*+",
    "",
)
KEYS: dict[str, CertificateIssuerPrivateKeyTypes] = {
    "p256": ec.generate_private_key(ec.SECP256R1()),
    "p384": ec.generate_private_key(ec.SECP384R1()),
    "p521": ec.generate_private_key(ec.SECP521R1()),
    "rsa2048": rsa.generate_private_key(65537, 2048),
    "rsa1024": rsa.generate_private_key(65537, 1024),  # noqa: S505 - it is to be refused
    "secp256k1": ec.generate_private_key(ec.SECP256K1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
}


@pytest.mark.parametrize("regex", REGEXES)
def test_regular_expressions(regex: str) -> None:
    manager = HttpConnectionManager(stat_prefix="x")
    host = manager.route_config.virtual_hosts.add(name="x", domains=["*"])
    route = host.routes.add()
    route.match.safe_regex.regex = regex
    route.direct_response.status = 200
    assert (path_error(PathType.REGEX, regex) == "") is (refusal(manager) is None)


@pytest.mark.parametrize("kind", KEYS)
def test_certificates(kind: str) -> None:
    chain, key = certificate(KEYS[kind], "shop.example"), pem(KEYS[kind])
    tls = DownstreamTlsContext()
    pair = tls.common_tls_context.tls_certificates.add()
    pair.certificate_chain.inline_string, pair.private_key.inline_string = chain, key
    manager = HttpConnectionManager(stat_prefix="x")
    manager.route_config.name = "x"
    is_taken = isinstance(decode_manifest(tls_secret(chain, key), FILE, "default"), Object)
    assert is_taken is (refusal(manager, tls) is None)


def refusal(manager: HttpConnectionManager, tls: Message | None = None) -> str | None:
    """What Envoy says against a listener with this."""
    manager.http_filters.add(name="router").typed_config.Pack(Router())
    bootstrap = Bootstrap()
    listener = bootstrap.static_resources.listeners.add(name="x")
    listener.address.socket_address.address = "127.0.0.1"
    listener.address.socket_address.port_value = 0
    chain = listener.filter_chains.add()
    chain.filters.add(name="http").typed_config.Pack(manager)
    if tls is not None:
        chain.transport_socket.name = "tls"
        chain.transport_socket.typed_config.Pack(tls)
    return EnvoyChecker(envoy_command()).ask(bootstrap.SerializeToString(), 60.0)
