"""Bearer tokens from files: one a line, kept as digests only, compared in constant time."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What may follow `Bearer` (RFC 6750, section 2.1)."""


@dataclass(frozen=True, slots=True)
class TokenSet:
    """The tokens of one file: more than one while clients change from an old one to a new one."""

    digests: tuple[bytes, ...] = field(repr=False)

    def holds(self, token: str) -> bool:
        """Whether it is one of them. The time it takes tells nothing about how much of it is right."""
        digest = _digest(token)
        found = False
        for each in self.digests:
            found |= hmac.compare_digest(each, digest)
        return found


def read_tokens(path: Path) -> TokenSet:
    """Read a file of tokens that others show.

    Raises:
        ValueError: it can't be read, has no token, or a line is no token; the text never repeats one.
    """
    return TokenSet(tuple(_digest(token) for token in _lines(path)))


def read_token(path: Path) -> str:
    """Read the token that is shown to others: the first of a file.

    Raises:
        ValueError: as `read_tokens`.
    """
    return _lines(path)[0]


def _lines(path: Path) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8") from None
    for number, line in enumerate(lines, 1):
        if line and not _TOKEN.fullmatch(line):
            raise ValueError(f"{path}:{number} is no bearer token: letters, digits and -._~+/ are allowed (RFC 6750)")
    tokens = [line for line in lines if line]
    if not tokens:
        raise ValueError(f"{path} holds no token")
    return tokens


def bearer(header: str) -> str:
    """The token of an `Authorization` header, "" when it holds none."""
    scheme, _, token = header.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
