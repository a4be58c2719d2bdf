"""Certificates that the webhook makes for itself: an authority for each, whose key is forgotten at once."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(hours=1)
"""How much earlier than it was made a certificate is valid, for clocks that are behind."""

_PEM, _PKCS8 = Encoding.PEM, PrivateFormat.PKCS8
_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Issued:
    """A new pair, and the authority that it is trusted by."""

    pair: Pair
    authority: bytes


def issue(names: tuple[str, ...], now: datetime, life: timedelta) -> Issued:
    """A pair for a server of these names (domains and IP addresses). The authority's key signs this one, and no other."""
    key, ca_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"tidegate-webhook-ca-{serial:x}"[:64])])
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    valid = now - BACKDATED, now + life
    authority = (
        _dated(issuer, issuer, ca_key.public_key(), valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
        .add_extension(identifier, critical=False)
        .sign(ca_key, SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    certificate = (
        _dated(subject, issuer, key.public_key(), valid)
        .add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(ca_key, SHA256())
    )
    pair = Pair(certificate.public_bytes(_PEM), key.private_bytes(_PEM, _PKCS8, NoEncryption()))
    return Issued(pair, authority.public_bytes(_PEM))


def context_of(pair: Pair) -> ssl.SSLContext:
    """A server's TLS with a pair.

    Raises:
        ValueError: They are no certificate chain with its private key.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # OpenSSL reads files only; these are gone again before anybody is served.
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        for path, content in ((certificate, pair.certificate), (key, pair.key)):
            path.touch(0o600)
            path.write_bytes(content)
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(certificate, key, password=lambda: "")
        except (ssl.SSLError, ValueError) as error:
            raise ValueError("expected a certificate chain in PEM with its private key") from error
    return context


def expiry(pair: Pair) -> datetime:
    """When a certificate ends.

    Raises:
        ValueError: It is none.
    """
    return x509.load_pem_x509_certificates(pair.certificate)[0].not_valid_after_utc


def _dated(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, valid: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    serial = x509.random_serial_number()
    return x509.CertificateBuilder(issuer, subject, key, serial, valid[0], valid[1])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
