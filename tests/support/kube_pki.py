"""The certificates and keys of a Kubernetes API server for tests, as files."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.certificates import Authority

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class Pki:
    """An authority, the server's certificate, users' certificates, and the key that signs service-account tokens."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True)
        self._folder = folder
        self._signer = Authority("kubernetes-tests")
        self.authority = folder / "ca.crt"
        self.authority.write_text(self._signer.certificate)
        self._issue("server", *NAMES, ips=("127.0.0.1",))
        self.accounts_key, self.accounts_public = folder / "accounts.key", folder / "accounts.pub"
        self._accounts()

    def certificate(self, name: str) -> Path:
        """The file of a certificate."""
        return self._folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The file of its key."""
        return self._folder / f"{name}.key"

    def user(self, name: str, *groups: str) -> dict[str, object]:
        """A kubeconfig's `user` of that name and those groups, by a new client certificate."""
        parts = [(NameOID.COMMON_NAME, name), *((NameOID.ORGANIZATION_NAME, group) for group in groups)]
        self._issue(name, name, subject=x509.Name([x509.NameAttribute(oid, text) for oid, text in parts]))
        return {"client-certificate": str(self.certificate(name)), "client-key": str(self.key(name))}

    def client_context(self, name: str) -> ssl.SSLContext:
        """For connections of a user that has a certificate."""
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.certificate(name), self.key(name))
        return context

    def server_context(self) -> ssl.SSLContext:
        """For a server that stands before the API server and looks like it."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate("server"), self.key("server"))
        return context

    def _issue(self, name: str, *names: str, ips: tuple[str, ...] = (), subject: x509.Name | None = None) -> None:
        pair = self._signer.issue(*names, ips=ips, subject=subject)
        self.certificate(name).write_text(pair.certificate)
        self.key(name).write_text(pair.key)

    def _accounts(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        pem = serialization.Encoding.PEM
        form = serialization.PrivateFormat.PKCS8
        self.accounts_key.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
        public = serialization.PublicFormat.SubjectPublicKeyInfo
        self.accounts_public.write_bytes(key.public_key().public_bytes(pem, public))
