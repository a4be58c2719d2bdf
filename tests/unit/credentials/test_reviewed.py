"""Tokens that somebody else judges: who is asked how often, and what counts while nobody can be asked."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.tokens import jwt
from xds_server.credentials import reviewed as module
from xds_server.credentials.reviewed import (
    FRESH,
    REFUSED,
    STALE,
    AccountTokens,
    ReviewedTokens,
    UnavailableError,
    claims_of,
)

ACCOUNT = "system:serviceaccount:ns:a"
NOW = 1_000_000.0


class Judge:
    """Knows tokens; may be away, or slow."""

    def __init__(self) -> None:
        self.now = NOW
        self.knows: dict[str, str] = {}
        self.asked: list[str] = []
        self.is_away = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.tokens = ReviewedTokens(self.review, "tidegate", lambda: self.now)

    async def review(self, token: str, audience: str) -> str | None:
        assert audience == "tidegate"
        self.asked.append(token)
        await self.may_answer.wait()
        if self.is_away:
            raise UnavailableError("away")
        return self.knows.get(token)

    def good(self, expires: float = NOW + 7200) -> str:
        token = jwt(expires=expires, jti=str(len(self.knows)))
        self.knows[token] = ACCOUNT
        return token


async def test_a_good_token_is_asked_about_once_a_minute() -> None:
    judge = Judge()
    token = judge.good()
    for _ in range(3):
        assert await judge.tokens.account(token) == ACCOUNT
    assert len(judge.asked) == 1
    judge.now += FRESH + 1
    del judge.knows[token]
    assert await judge.tokens.account(token) is None, "it was revoked"
    assert len(judge.asked) == 2


async def test_a_bad_token_is_asked_about_again_a_little_later() -> None:
    judge = Judge()
    token = jwt(expires=NOW + 60)
    assert await judge.tokens.account(token) is None
    assert await judge.tokens.account(token) is None
    assert len(judge.asked) == 1
    judge.now += REFUSED + 1
    judge.knows[token] = ACCOUNT
    assert await judge.tokens.account(token) == ACCOUNT


@pytest.mark.parametrize(
    "token",
    [
        "",
        "opaque",
        "a.b.c",
        "a.e30.c",
        jwt(audience="another", expires=NOW + 60),
        jwt(audience=[], expires=NOW + 60),
        jwt(expires=NOW),
        jwt(expires=NOW + 60) + ".more",
    ],
)
async def test_what_can_not_be_good_is_asked_about_never(token: str) -> None:
    judge = Judge()
    judge.knows[token] = ACCOUNT
    assert await judge.tokens.account(token) is None
    assert judge.asked == []


async def test_while_nobody_can_be_asked_known_tokens_go_on_and_others_come_again() -> None:
    judge = Judge()
    known, other = judge.good(), judge.good(NOW + 7201)
    await judge.tokens.account(known)
    judge.is_away = True
    judge.now += STALE
    assert await judge.tokens.account(known) == ACCOUNT
    with pytest.raises(UnavailableError, match="away"):
        await judge.tokens.account(other)
    judge.now += FRESH + 1
    with pytest.raises(UnavailableError):
        await judge.tokens.account(known)


async def test_a_known_token_ends_with_its_own_life_whoever_can_be_asked() -> None:
    judge = Judge()
    token = judge.good(NOW + 10)
    assert await judge.tokens.account(token) == ACCOUNT
    judge.now += 10
    judge.is_away = True
    assert await judge.tokens.account(token) is None


async def test_many_at_once_are_one_question_and_who_leaves_takes_it_from_nobody() -> None:
    judge = Judge()
    token = judge.good()
    judge.may_answer.clear()
    first, *others = [asyncio.create_task(judge.tokens.account(token)) for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    judge.may_answer.set()
    assert await asyncio.gather(*others) == [ACCOUNT] * 49
    assert len(judge.asked) == 1
    assert first.cancelled()


async def test_a_flood_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAITING", 30)
    judge = Judge()
    judge.may_answer.clear()
    asking = [asyncio.create_task(judge.tokens.account(judge.good(NOW + 100 + number))) for number in range(40)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(judge.asked) == 16, "so many are asked about at once"
    judge.may_answer.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(each) for each in found] == [str] * 30 + [UnavailableError] * 10


async def test_accounts() -> None:
    judge = Judge()
    accounts = [ACCOUNT]
    tokens = AccountTokens(judge.tokens, lambda: accounts)
    good = judge.good()
    assert await tokens.holds(good)
    assert not await tokens.holds("nothing")
    accounts[:] = ["another"]
    assert not await tokens.holds(good)


def test_what_a_token_says_of_itself() -> None:
    found = claims_of(jwt(audience=["a", "b"], expires=5.0, sub=ACCOUNT))
    assert found is not None
    assert found == (("a", "b"), 5.0, ACCOUNT)
