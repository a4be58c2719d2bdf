"""The vault: what is stored of resources that hold secrets, and what comes back of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from xds_server.wire.resource import Resource

_SHORTEST_KEY = 16
_NONCE = 12
"""Bytes; what NIST SP 800-38D advises for random ones."""


class Vault:
    """Knows which resources hold secrets. These are left out of what is stored or, with a key, stored encrypted."""

    def __init__(self, holds_secrets: Callable[[Resource], bool], key: bytes | None = None) -> None:
        """Judge by `holds_secrets`, which need not be fast: of each name the last verdict is remembered."""
        self._holds_secrets = holds_secrets
        self._cipher = None if key is None else AESGCM(key)
        self._verdicts: dict[tuple[str, str], tuple[str, bool]] = {}
        self.unopened: set[tuple[str, str]] = set()
        """Type URLs and names of what is stored encrypted and could not be opened."""

    def hides(self, resource: Resource) -> bool:
        """Whether the bytes of a resource must not be stored as they are."""
        key = (resource.type_url, resource.name)
        version, verdict = self._verdicts.get(key, ("", False))
        if version != resource.version:
            verdict = self._holds_secrets(resource)
            self._verdicts[key] = (resource.version, verdict)
        return verdict

    def forget(self, type_url: str, name: str) -> None:
        """Drop the verdict about a resource that is no more."""
        self._verdicts.pop((type_url, name), None)

    def seal(self, resource: Resource) -> bytes | None:
        """The bytes of a resource, encrypted and bound to its identity; None without a key."""
        if self._cipher is None:
            return None
        nonce = os.urandom(_NONCE)
        bound = _identity(resource.type_url, resource.name, resource.version)
        return nonce + self._cipher.encrypt(nonce, resource.body, bound)

    def unseal(self, type_url: str, name: str, version: str, sealed: bytes) -> bytes | None:
        """The bytes again; None without the right key."""
        if self._cipher is not None and len(sealed) >= _NONCE:
            with suppress(InvalidTag):
                return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], _identity(type_url, name, version))
        self.unopened.add((type_url, name))
        return None


def read_key(path: Path) -> bytes:
    """The key for AES-256 that is derived from what a file holds (RFC 5869); a line end after it does not count.

    Raises:
        OSError: It can't be read, or holds fewer than 16 bytes.
    """
    try:
        secret = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise OSError(f"history.key_file: can't read {path}: {error.strerror}") from error
    if len(secret) < _SHORTEST_KEY:
        raise OSError(f"history.key_file: {path} holds {len(secret)} bytes, expected {_SHORTEST_KEY} or more")
    return HKDF(SHA256(), 32, salt=None, info=b"tidegate history 1").derive(secret)


def _identity(type_url: str, name: str, version: str) -> bytes:
    return f"{type_url}\0{name}\0{version}".encode()
