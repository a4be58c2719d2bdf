"""JSON web tokens that nobody has signed: good for what looks at them before anybody is asked."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping

import msgspec


def jwt(*, audience: str | list[str] = "tidegate", expires: float | None = None, **claims: object) -> str:
    """A token for this audience, which ends in an hour unless `expires` (POSIX seconds) says otherwise."""
    body = {"aud": audience, "exp": time.time() + 3600 if expires is None else expires, **claims}
    return ".".join((_part({"alg": "RS256"}), _part(body), "c2lnbmF0dXJl"))


def _part(value: Mapping[str, object]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()
