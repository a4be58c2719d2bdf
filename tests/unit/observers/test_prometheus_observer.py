"""The observer against a query API of the tests' own, over real HTTP: what is asked, how often, and how it fails."""

from __future__ import annotations

import asyncio
import base64
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest

from observers.prometheus import api as calls
from observers.prometheus.options import Security
from tests.support.lag_watch import FAST, SLACK
from tests.support.query_api import QueryApi, Said, asking, failure, query_api, scalar, vector
from xds_server.ir.facts import Observation, ValueQuery

ONE, TWO = ValueQuery("depth"), ValueQuery("sum(rate(x[1m]))")
SLOW = Said(b"", delay=30)


@pytest.fixture
async def api() -> AsyncIterator[QueryApi]:
    async with query_api() as found:
        yield found


def known(observation: Observation) -> bool:
    return observation.value is not None


def unknown(observation: Observation) -> bool:
    return observation.value is None and observation.state != "not sampled yet"


async def test_a_query_is_a_post_of_a_form_with_a_time_limit(api: QueryApi) -> None:
    api.said = vector("42.5")
    async with asking(api.url + "/", [TWO]) as watcher:
        found = await watcher.until(TWO, known)
    assert abs(found.sampled - time.time()) < 10 * SLACK
    assert found == Observation(TWO, 42.5, sampled=found.sampled)
    assert api.forms[0]["query"] == TWO.query
    assert 100 < int(api.forms[0]["timeout"].removesuffix("ms")) <= FAST.timeout * 1000
    assert "Authorization" not in api.headers[0]


async def test_where_a_post_is_not_allowed_queries_go_by_get_from_then_on(api: QueryApi) -> None:
    api.allowed = {"GET"}
    async with asking(api.url, [TWO]) as watcher:
        await watcher.until(TWO, known)
        await watcher.rounds(2)
    assert api.methods[0] == "POST"
    assert set(api.methods[1:]) == {"GET"}
    assert set(api.asked) == {TWO.query}, "whatever signs are in it"


async def test_where_neither_is_allowed_that_is_told(api: QueryApi) -> None:
    api.allowed = set()
    async with asking(api.url, [ONE]) as watcher:
        found = await watcher.until(ONE, unknown)
    assert (found.state, "HTTP status 405: this is not the query API" in str(found.unknown)) == ("error", True)


@pytest.mark.parametrize(
    ("said", "state", "reason"),
    {
        "NaN": (lambda: scalar("NaN"), "NaN", "NaN"),
        "+Inf": (lambda: scalar("+Inf"), "infinite", "+Inf"),
        "-Inf": (lambda: scalar("-Inf"), "infinite", "-Inf"),
        "nothing": (vector, "no series", "finds nothing"),
        "two series": (lambda: vector("1", "2"), "several series", "2 series"),
        "old": (lambda: vector("5", age=600), "old", "s old"),
    }.values(),
)
async def test_k90_no_value_is_unknown_at_once_and_counted_by_kind(
    api: QueryApi, said: Callable[[], Said], state: str, reason: str
) -> None:
    api.said = scalar("7")
    async with asking(api.url, [ONE], replace(FAST, ttl=600.0)) as watcher:
        last = await watcher.until(ONE, known)
        api.said = said()
        found = await watcher.until(ONE, unknown)
        assert (found.state, found.breaker) == (state, "closed")
        assert found.unknown is not None
        assert reason in found.unknown
        assert found.sampled >= last.sampled, "the age is that of the last value"
        assert {each.value for each in watcher.told} <= {None, 7.0}
        assert set(watcher.meter.failures) == {("prometheus", state)}
        api.said = scalar("8")
        assert (await watcher.until(ONE, known)).value == 8.0


@pytest.mark.parametrize(
    ("said", "state"),
    {
        "status=error": (failure("internal", "gone"), "error"),
        "503": (Said(b"no healthy upstream", 503), "busy"),
        "30 s": (SLOW, "timeout"),
    }.values(),
)
async def test_k90_no_answer_keeps_the_value_for_its_time_then_it_is_unknown(
    api: QueryApi, said: Said, state: str
) -> None:
    api.said = scalar("7")
    async with asking(api.url, [ONE], replace(FAST, ttl=1.0, reset=0.5)) as watcher:
        await watcher.until(ONE, known)
        api.said = said
        gone = await watcher.until(ONE, unknown)
        assert gone.state == state
        assert gone.unknown
        assert (await watcher.until(ONE, lambda each: each.breaker == "open")).value is None
        assert {each.value for each in watcher.told} == {None, 7.0}
        assert set(watcher.meter.failures) == {("prometheus", state)}
        api.said = scalar("8")
        found = await watcher.until(ONE, lambda each: each.value == 8.0)
        assert (found.state, found.breaker) == ("ok", "closed")


async def test_one_bad_query_among_good_ones_costs_itself_only(api: QueryApi) -> None:
    api.by_query = {"depth": failure("bad_data", "parse error", 400)}
    async with asking(api.url, [ONE, TWO]) as watcher:
        assert (await watcher.until(TWO, known)).value == 1.0
        found = watcher.now(ONE)
        assert (found.state, found.unknown, found.breaker) == ("bad query", "bad_data: parse error", "closed")
        await watcher.rounds(FAST.failures + 1)
        assert watcher.now(ONE).breaker == "closed"


async def test_a_slow_query_costs_itself_only(api: QueryApi) -> None:
    api.by_query = {"depth": SLOW}
    async with asking(api.url, [ONE, TWO], replace(FAST, timeout=0.5)) as watcher:
        await watcher.until(ONE, unknown)
        assert watcher.now(ONE).state == "timeout"
        assert watcher.now(TWO).value == 1.0


async def test_each_query_is_asked_once_a_round_and_so_many_at_a_time(api: QueryApi) -> None:
    queries = [ValueQuery(f"q{number:02}") for number in range(40)]
    api.said = replace(scalar("1"), delay=0.02)
    async with asking(api.url, queries, replace(FAST, interval=600.0, timeout=20.0), concurrency=3) as watcher:
        watcher.observer.want([*queries, *queries])
        await watcher.rounds(1)
        assert all(each.value == 1.0 for each in watcher.observer.observations())
    assert sorted(api.asked) == [each.query for each in queries]
    assert api.most == 3


async def test_where_time_is_short_no_query_is_left_out_for_ever(api: QueryApi) -> None:
    queries = [
        ValueQuery(f"q{number}") for number in range(8)
    ]  # in each round three are answered, the fourth is cut short
    api.said = replace(scalar("1"), delay=0.5)
    unhurried = replace(FAST, interval=0.1, timeout=2.0, ttl=600.0, failures=1000)
    async with asking(api.url, queries, unhurried, concurrency=1) as watcher:
        await watcher.rounds(1)
        left_out = [each for each in watcher.observer.observations() if "not asked in this round" in each.detail]
        assert left_out
        assert {each.state for each in left_out} == {"timeout"}
        for query in queries:
            if watcher.now(query).value is None:
                await watcher.until(query, known, 60)


async def test_while_nothing_answers_there_is_one_call_for_each_round(api: QueryApi) -> None:
    queries = [ValueQuery(f"q{number}") for number in range(20)]
    api.said = Said(b"", 503)
    async with asking(api.url, queries, replace(FAST, failures=1000), concurrency=4) as watcher:
        await watcher.rounds(1)
        first = len(api.asked)
        assert first <= 4
        await watcher.rounds(5)
        assert len(api.asked) == first + 5
        api.said = scalar("1")
        await watcher.until(queries[-1], known)
        assert all(known(each) for each in watcher.observer.observations())


@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_honoured(api: QueryApi, form: str, status: int) -> None:
    after = "3" if form == "seconds" else formatdate(time.time() + 4, usegmt=True)
    api.said = Said(b"", status, {"Retry-After": after})
    async with asking(api.url, [ONE], replace(FAST, failures=1000)) as watcher:
        await watcher.until(ONE, lambda each: "Retry-After" in each.detail)
        await watcher.rounds(4)
        assert len(api.asked) == 1
        assert watcher.now(ONE).state == "busy"
        api.said = scalar("1")
        assert (await watcher.until(ONE, known)).value == 1.0


async def test_retry_after_is_honoured_within_limits(api: QueryApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PATIENCE", 0.3)
    api.said = Said(b"", 503, {"Retry-After": "86400"})
    async with asking(api.url, [ONE]) as watcher:
        await watcher.until(ONE, unknown)
        api.said = scalar("1")
        await watcher.until(ONE, known)


async def test_redirects_are_told_and_not_followed(api: QueryApi) -> None:
    async with query_api() as other:
        api.said = Said(b"", 307, {"Location": f"{other.url}/api/v1/query?token=hidden"})
        async with asking(api.url, [ONE], security=Security(token="secret")) as watcher:
            found = await watcher.until(ONE, unknown)
        assert other.asked == []
    assert found.state == "redirected"
    assert found.unknown is not None
    assert f"HTTP status 307 to {other.url}/api/v1/query; redirects are not followed" in found.unknown
    assert "hidden" not in found.unknown


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    api: QueryApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "MOST", 1 << 12)
    api.said = Said(b" " * (1 << 13))
    async with asking(api.url, [ONE]) as watcher:
        found = await watcher.until(ONE, unknown)
    assert found.state == "too large"
    assert "let the query aggregate" in str(found.unknown)


async def test_a_token_in_a_file_is_read_anew_when_it_changes(api: QueryApi, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    async with asking(api.url, [ONE], security=Security(token_file=file)) as watcher:
        await watcher.until(ONE, known)
        file.write_text("second")
        async with asyncio.timeout(10 * SLACK):
            while api.headers[-1]["Authorization"] != "Bearer second":
                await watcher.rounds(1)
        assert api.headers[0]["Authorization"] == "Bearer first"
        file.write_text("two words\nand a line")
        found = await watcher.until(ONE, unknown)
        assert found.state == "security"
        assert found.unknown == f"security: what {file} holds is no token: one word of ASCII is needed"
        file.unlink()
        found = await watcher.until(ONE, lambda each: "No such file" in each.detail)
        assert str(file) in found.detail


async def test_name_and_password(api: QueryApi, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("pässword\n", encoding="utf-8")
    async with asking(api.url, [ONE], security=Security(username="u", password_file=file)) as watcher:
        await watcher.until(ONE, known)
    assert base64.b64decode(api.headers[0]["Authorization"].removeprefix("Basic ")).decode() == "u:pässword"
    assert "secret" not in repr(Security(username="u", password="secret", token="secret"))


async def test_nobody_listens_at_first() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with asking(f"http://127.0.0.1:{port}/prefix", [ONE]) as watcher:
        found = await watcher.until(ONE, lambda each: each.breaker == "open")
        assert (found.value, found.state, found.sampled) == (None, "unreachable", 0.0)
        assert str(found.unknown).startswith(f"127.0.0.1:{port}: Connect call failed")
        async with query_api(port):
            assert (await watcher.until(ONE, known)).breaker == "closed"


async def test_a_clock_that_is_wrong_does_no_harm(api: QueryApi) -> None:
    date = {"Date": formatdate(time.time() - 3600, usegmt=True)}
    api.by_query = {
        ONE.query: replace(scalar("5", age=3600), headers=date),
        TWO.query: replace(scalar("5", age=4200), headers=date),
    }
    async with asking(api.url, [ONE, TWO]) as watcher:
        assert (await watcher.until(ONE, known)).value == 5
        assert watcher.now(TWO).state == "old", "by that clock it is 10 minutes old"
