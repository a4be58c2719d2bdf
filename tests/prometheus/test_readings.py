"""What a real Prometheus answers, and what is made of it: values, what is none, slow ones, outages."""

from __future__ import annotations

from dataclasses import replace

from tests.prometheus.server import Exporter, Prometheus
from tests.support.lag_watch import FAST
from tests.support.query_api import asking
from xds_server.ir.facts import Observation, ValueQuery

DEPTH, SUM = ValueQuery("depth"), ValueQuery("sum(depth)")
SLOW = ValueQuery("count_over_time(vector(time())[10000s:1ms])")
"""Ten million steps."""


def unknown(observation: Observation) -> bool:
    return observation.value is None and observation.state != "not sampled yet"


async def test_k90_what_a_real_prometheus_says(server: Prometheus, scraped: Exporter) -> None:
    scraped.samples = {"depth": "42.5"}
    async with asking(server.url, [DEPTH, SUM, ValueQuery("scalar(depth) * -2"), ValueQuery('"five"')]) as watcher:
        found = await watcher.until(DEPTH, lambda each: each.value == 42.5)
        assert (found.state, found.unknown, found.breaker) == ("ok", None, "closed")
        assert (await watcher.until(ValueQuery("scalar(depth) * -2"), lambda each: each.value == -85.0)).state == "ok"
        assert watcher.now(ValueQuery('"five"')).state == "no number"

        for text, state in (("NaN", "NaN"), ("+Inf", "infinite"), ("-Inf", "infinite")):
            scraped.samples = {"depth": text}
            found = await watcher.until(DEPTH, lambda each, state=state: each.state == state)  # type: ignore[misc]
            assert (found.value, found.unknown) == (None, f"the value is {text}")

        scraped.samples = {}
        assert "finds nothing" in str((await watcher.until(DEPTH, lambda each: each.state == "no series")).unknown)

        scraped.samples = {'depth{queue="a"}': "1", 'depth{queue="b"}': "2"}
        found = await watcher.until(DEPTH, lambda each: each.state == "several series")
        assert found.value is None
        assert 'the query gives 2 series (depth{instance="' in str(found.unknown)
        assert "let it aggregate" in str(found.unknown)
        assert (await watcher.until(SUM, lambda each: each.value == 3.0)).state == "ok", "it aggregates"
        assert {reason for _, reason in watcher.meter.failures} <= {
            *("NaN", "infinite", "no series", "several series", "no number")
        }
        numbers = {each.value for each in watcher.of(DEPTH)}
        assert numbers == {None, 42.5}, "never 0, nor anything else that nobody said"


async def test_a_slip_in_a_query_is_told_in_its_own_words(server: Prometheus) -> None:
    slip = ValueQuery("sum(depth")
    async with asking(server.url, [slip, ValueQuery("vector(1)")]) as watcher:
        found = await watcher.until(slip, unknown)
        await watcher.rounds(FAST.failures + 1)
        assert (found.state, watcher.now(slip).breaker) == ("bad query", "closed")
    assert "unclosed left parenthesis" in str(found.unknown)


async def test_a_slow_query_ends_in_time_and_costs_itself_only(server: Prometheus) -> None:
    quick = ValueQuery("vector(7)")
    async with asking(server.url, [SLOW, quick], replace(FAST, interval=0.5, timeout=2.0)) as watcher:
        found = await watcher.until(SLOW, lambda each: "timeout: query timed out" in each.detail, 20)
        assert watcher.now(quick).value == 7.0
        assert (found.state, found.value, found.breaker) == ("timeout", None, "closed"), (
            "the server itself has ended it"
        )


async def test_down_then_unknown_then_back(server: Prometheus, scraped: Exporter) -> None:
    scraped.samples = {"depth": "42"}
    async with asking(server.url, [DEPTH]) as watcher:
        last = await watcher.until(DEPTH, lambda each: each.value == 42)
        assert server.process is not None
        server.process.kill()
        stale = await watcher.until(DEPTH, lambda each: each.state == "unreachable")
        assert stale.value == 42, "kept while it may be used"
        gone = await watcher.until(DEPTH, unknown)
        assert gone.sampled >= last.sampled
        await watcher.until(DEPTH, lambda each: each.breaker == "open")
        scraped.samples = {"depth": "43"}
        await server.start()
        back = await watcher.until(DEPTH, lambda each: each.value == 43, 30)
        assert (back.state, back.unknown) == ("ok", None)
        assert {each.value for each in watcher.told} <= {None, 42, 43}


async def test_frozen_is_a_timeout_and_thawed_is_well(server: Prometheus) -> None:
    one = ValueQuery("vector(1)")
    async with asking(server.url, [one]) as watcher:
        await watcher.until(one, lambda each: each.value == 1)
        assert server.process is not None
        server.process.freeze()
        gone = await watcher.until(one, unknown)
        assert gone.state == "timeout"
        await watcher.until(one, lambda each: each.breaker == "open")
        server.process.thaw()
        assert (await watcher.until(one, lambda each: each.value == 1, 30)).state == "ok"


async def test_what_is_not_scraped_any_more_is_no_series(server: Prometheus, scraped: Exporter) -> None:
    """Prometheus itself lets a value go when its target is away: that is no 0 either."""
    scraped.samples = {"depth": "42"}
    async with asking(server.url, [DEPTH, ValueQuery("up")]) as watcher:
        await watcher.until(DEPTH, lambda each: each.value == 42)
        scraped.samples = {"no sample": "at all"}
        found = await watcher.until(DEPTH, unknown)
        assert found.state == "no series"
        assert (await watcher.until(ValueQuery("up"), lambda each: each.value == 0)).state == "ok", "this 0 was said"
