"""Certificates for tests, made when they are needed: an authority, and what it signs."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM. `serial` tells one issue from the next."""

    certificate: str
    key: str
    serial: int

    def write(self, folder: Path) -> None:
        """Write `tls.crt` and `tls.key`."""
        (folder / "tls.crt").write_text(self.certificate)
        (folder / "tls.key").write_text(self.key)


class Authority:
    """A certificate authority of its own."""

    def __init__(self, name: str = "tests") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = _pem(self._certificate)

    def issue(
        self,
        *names: str,
        uris: Sequence[str] = (),
        ips: Sequence[str] = (),
        subject: x509.Name | None = None,
        life: dt.timedelta = LIFETIME,
    ) -> Pair:
        """Sign a fresh certificate for DNS `names`, `uris` and `ips`, good for servers and clients, for so long."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject or _name(names[0]), self._name, key.public_key(), life)
        dns, ids = map(x509.DNSName, names), map(x509.UniformResourceIdentifier, uris)
        addresses = [x509.IPAddress(ip_address(each)) for each in ips]
        alternatives = x509.SubjectAlternativeName([*dns, *ids, *addresses])
        certificate = builder.add_extension(alternatives, critical=False).sign(self._key, hashes.SHA256())
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        private = key.private_bytes(encoding, form, serialization.NoEncryption()).decode()
        return Pair(_pem(certificate), private, certificate.serial_number)

    def client_context(self) -> ssl.SSLContext:
        """A context that trusts what this authority signed, and checks no host names (tests call 127.0.0.1)."""
        context = ssl.create_default_context(cadata=self.certificate)
        context.check_hostname = False
        return context

    def server_context(self, pair: Pair, folder: Path) -> ssl.SSLContext:
        """A context for a server with `pair`, whose files go to `folder`."""
        pair.write(folder)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        return context


def serial_of(der: bytes) -> int:
    """The serial number of a certificate in DER."""
    return x509.load_der_x509_certificate(der).serial_number


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: dt.timedelta = LIFETIME
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    # An hour back, for machines whose clocks differ a little.
    start = now - dt.timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(now + life)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
