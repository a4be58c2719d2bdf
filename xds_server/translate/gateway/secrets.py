"""From certificates to secrets."""

from __future__ import annotations

from envoy.extensions.transport_sockets.tls.v3.secret_pb2 import Secret

from xds_server.ir.gateway import Certificate
from xds_server.ir.refs import NO_REFS
from xds_server.translate.gateway.names import secret_name
from xds_server.wire.resource import Resource
from xds_server.wire.types import SECRET


def secret(certificate: Certificate) -> Resource:
    """The secret of a certificate, of whatever kind its key is."""
    message = Secret(name=secret_name(certificate.key))
    message.tls_certificate.certificate_chain.inline_string = certificate.chain
    message.tls_certificate.private_key.inline_string = certificate.private_key
    return Resource(message.name, SECRET, message.SerializeToString(deterministic=True), NO_REFS, (certificate.origin,))
