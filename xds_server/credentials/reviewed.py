"""Bearer tokens that somebody else judges: what was said of one is kept for a while, and asked once however many show it.

The judge is an API server of Kubernetes (`authentication.k8s.io/v1`, TokenReview). Tokens are kept as digests only.
"""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Collection
from hashlib import sha256
from typing import NamedTuple

import msgspec
from cachetools import TLRUCache, TTLCache

FRESH = 60.0
"""Seconds for which a token that was found good is not asked about again. So long one may be used that was revoked."""

STALE = 3600.0
"""Seconds after that for which it counts while nobody can be asked, within its own lifetime."""

REFUSED = 10.0
"""Seconds for which a token that was found bad is not asked about again."""

_KEPT = 20_000
_AT_ONCE = 16
_WAITING = 1_000
"""Tokens that are asked about, or wait for it; who comes then is told to come again."""


class UnavailableError(Exception):
    """Nobody can be asked about a token now; the text says why, and never has a part of it."""


Review = Callable[[str, str], Awaitable[str | None]]
"""Who can be asked: a token and an audience in; whose it is (`system:serviceaccount:NAMESPACE:NAME`), None where it is no good
for that audience. Raises UnavailableError where that can't be told now."""


class Claims(NamedTuple):
    """What a token says of itself, unproved: for whom it is meant, its end (POSIX seconds), and whose it is."""

    audiences: tuple[str, ...]
    expires: float
    subject: str


class _Known(NamedTuple):
    account: str
    fresh: float
    until: float


class ReviewedTokens:
    """Judged tokens for one audience. All calls belong on the event loop."""

    def __init__(self, review: Review, audience: str, clock: Callable[[], float] = time.time) -> None:
        """Ask `review`; take times from `clock` (POSIX seconds)."""
        self._review = review
        self._audience = audience
        self._clock = clock
        self._known: TLRUCache[bytes, _Known] = TLRUCache(_KEPT, lambda _key, known, _now: known.until, timer=clock)
        self._refused: TTLCache[bytes, None] = TTLCache(_KEPT, REFUSED, timer=clock)
        self._asking: dict[bytes, asyncio.Task[str | None]] = {}
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def account(self, token: str) -> str | None:
        """Whose token it is, None where it is no good.

        Raises:
            UnavailableError: That can't be told now.
        """
        claims, now = claims_of(token), self._clock()
        if claims is None or self._audience not in claims.audiences or claims.expires <= now:
            return None
        key = sha256(token.encode()).digest()
        known = self._known.get(key)
        if known is not None and now < known.fresh:
            return known.account
        if key in self._refused:
            return None
        try:
            return await self._asked(key, token, claims)
        except UnavailableError:
            if known is not None and self._clock() < known.until:
                return known.account
            raise

    async def _asked(self, key: bytes, token: str, claims: Claims) -> str | None:
        task = self._asking.get(key)
        if task is None:
            if len(self._asking) >= _WAITING:
                raise UnavailableError("too many tokens wait to be looked at")
            task = self._asking[key] = asyncio.create_task(self._ask(key, token, claims))
            task.add_done_callback(lambda done: self._end(key, done))
        # Who leaves must not take the answer from the others.
        return await asyncio.shield(task)

    async def _ask(self, key: bytes, token: str, claims: Claims) -> str | None:
        async with self._places:
            account = await self._review(token, self._audience)
        now = self._clock()
        if account is None:
            self._known.pop(key, None)
            self._refused[key] = None
        else:
            fresh = min(now + FRESH, claims.expires)
            self._known[key] = _Known(account, fresh, min(fresh + STALE, claims.expires))
        return account

    def _end(self, key: bytes, task: asyncio.Task[str | None]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # all who waited may have left


def claims_of(token: str) -> Claims | None:
    """What a JSON web token (RFC 7519) says of itself; None where it is none, names no audience, or has no end."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - RFC 7515, section 7.1
        return None
    try:
        body = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        found = msgspec.json.decode(body, type=_Body)
    except ValueError:
        return None
    audiences = (found.aud,) if isinstance(found.aud, str) else tuple(found.aud)
    return Claims(audiences, found.exp, found.sub)


class _Body(msgspec.Struct):
    aud: str | list[str]
    exp: float
    sub: str = ""


class AccountTokens:
    """The tokens of some accounts."""

    def __init__(self, reviewed: ReviewedTokens, accounts: Callable[[], Collection[str]]) -> None:
        """Those of `accounts`, as they are now."""
        self._reviewed = reviewed
        self._accounts = accounts

    async def holds(self, token: str) -> bool:
        """Whether it is one of them.

        Raises:
            UnavailableError: That can't be told now.
        """
        return await self._reviewed.account(token) in self._accounts()
