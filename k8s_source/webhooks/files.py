"""A certificate that someone else keeps in files, such as cert-manager in a mounted Secret: read anew when it changes."""

from __future__ import annotations

from pathlib import Path

from k8s_source.kinds.pem import belong_together, certificate_error, key_error
from k8s_source.webhooks.authority import Pair


class CertificateFiles:
    """A certificate chain with its key and, where the API server is to be told, the authority that it is trusted by."""

    def __init__(self, certificate: Path, key: Path, authority: Path | None = None) -> None:
        """Nothing is read before `look`."""
        self._certificate = certificate
        self._key = key
        self._authority = authority

    def look(self) -> tuple[Pair, bytes]:
        """The pair, and the authority (b"" without one).

        Raises:
            OSError: A file can't be read.
            ValueError: They are no certificate chain with its key, or no authority.
        """
        pair = Pair(self._certificate.read_bytes(), self._key.read_bytes())
        authority = self._authority.read_bytes() if self._authority is not None else b""
        for path, wrong in (
            (self._certificate, certificate_error(pair.certificate)),
            (self._key, key_error(pair.key)),
            (self._authority, certificate_error(authority) if self._authority is not None else ""),
        ):
            if wrong:
                raise ValueError(f"{path}: {wrong}")
        if not belong_together(pair.certificate, pair.key):
            raise ValueError(f"{self._key}: expected the key of the first certificate in {self._certificate}")
        return pair, authority
