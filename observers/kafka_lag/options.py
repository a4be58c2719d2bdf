"""What the sampler must know of a cluster: where it is, how to log in, and which records count."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from observers.sampler import TargetError


@dataclass(frozen=True, slots=True)
class Security:
    """How to log in. Files are read at each connection, so that they may be exchanged while all runs.

    `protocol` and `mechanism` are Kafka's own words: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL; PLAIN, SCRAM-SHA-256,
    SCRAM-SHA-512.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    check_hostname: bool = True

    def arguments(self) -> dict[str, object]:
        """What aiokafka wants to be told. Blocks on the disk.

        Raises:
            TargetError: a file can't be read or used.
        """
        told: dict[str, object] = {"security_protocol": self.protocol}
        try:
            if self.protocol.startswith("SASL_"):
                told |= {
                    "sasl_mechanism": self.mechanism,
                    "sasl_plain_username": self.username,
                    "sasl_plain_password": self._password(),
                }
            if self.protocol.endswith("SSL"):
                told["ssl_context"] = self._context()
        except OSError as error:  # ssl.SSLError is one
            where = f" ({error.filename})" if error.filename else ""
            raise TargetError("security", f"security: {error.strerror or error}{where}") from error
        return told

    def _password(self) -> str | None:
        if self.password_file is None:
            return self.password
        return self.password_file.read_text(encoding="utf-8").strip()

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        context.check_hostname = self.check_hostname
        if self.cert is not None:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(self.cert, self.key, password=lambda: "")
        return context


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """One cluster. `bootstrap` has host and port of brokers to begin with.

    `read_committed`: records of open transactions do not count, as consumers with that isolation level don't see them.
    """

    bootstrap: tuple[tuple[str, int], ...]
    security: Security = Security()
    read_committed: bool = False
