"""Answers that a real API server cannot be made to give: by a script, with the real client and real time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from k8s_source.informer.condition import Phase
from k8s_source.informer.item import Change, ItemKey
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from tests.support.kube_proxy import error_line, refusal
from tests.support.kube_script import Script, answering, bookmark, event, listed, one
from tests.support.kube_watch import CONFIG_MAPS, Counts, Data, Told, data_of, running, until

PAGED = Tuning(streaming=False, page=2)


@asynccontextmanager
async def followed(
    script: Script, folder: Path, tuning: Tuning = PAGED, counts: Counts | None = None
) -> AsyncIterator[Told]:
    async with answering(script, folder) as api:
        informers = Informers(api, namespaces=["shop"], tuning=tuning, meter=counts)
        told = Told(informers.informer(CONFIG_MAPS, data_of))
        async with running(informers):
            yield told


async def test_a_page_that_has_expired_has_everything_listed_in_one(tmp_path: Path) -> None:
    a, b, c = (one(name, number) for number, name in enumerate("abc", 1))
    script = Script(listed(3, a, b, onward="two"), refusal(410, "Expired"), listed(5, b, c))
    async with followed(script, tmp_path) as told:
        await until(told.informer.synced.is_set)
        assert told.world.keys() == {"b", "c"}
        assert len(told.batches) == 1
        await until(lambda: len(script.asked) == 4)
    assert script.asked[1] == {"limit": "2", "continue": "two"}
    assert script.asked[2] == {}
    assert script.asked[3]["resourceVersion"] == "5"


async def test_a_server_that_streams_no_lists_is_asked_for_pages(tmp_path: Path) -> None:
    no = refusal(
        422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
    )
    script = Script(no, listed(3, one("a", 1)), [error_line(410, "Expired")], listed(4, one("b", 4)))
    async with followed(script, tmp_path, Tuning()) as told:
        await until(lambda: told.world.keys() == {"b"})
    assert ["sendInitialEvents" in each for each in script.lists] == [True, False, False]


async def test_lines_are_put_together_and_half_a_line_loses_nothing(tmp_path: Path) -> None:
    big = event("ADDED", one("big", 4, text="x" * 1_500_000))
    half = event("MODIFIED", one("a", 6, text="new"))
    pieces = [big[start : start + 100_001] for start in range(0, len(big), 100_001)]
    script = Script(listed(3, one("a", 1)), [*pieces, bookmark(5), half[:-20]], half)
    async with followed(script, tmp_path) as told:
        await until(lambda: told.world.get("a") == {"text": "new"})
        assert len(told.world["big"]["text"]) == 1_500_000
    assert [each.get("resourceVersion") for each in script.asked] == [None, "3", "5"]


async def test_a_version_of_the_future_has_everything_listed(tmp_path: Path) -> None:
    ahead = refusal(504, "Timeout", "Too large resource version: 9000, current: 12")
    script = Script(listed(9000, one("a", 8000), one("b", 8000)), ahead, listed(12, one("a", 7)))
    async with followed(script, tmp_path) as told:
        await until(lambda: told.world.keys() == {"a"})
    assert len(script.lists) == 2


async def test_silence_at_a_version_of_the_future_has_everything_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does an API server behave whose etcd was restored from a backup: it accepts the watch and says nothing."""
    monkeypatch.setattr("k8s_source.informer.watching.QUIET", 0.2)
    monkeypatch.setattr("k8s_source.informer.watchdog.OVERDUE", 0.05)
    monkeypatch.setattr("k8s_source.informer.watchdog.MARGIN", 0.1)
    script = Script(listed(9000, one("a", 8000), one("b", 8000)), bookmark(9001), b"", listed(12, one("a", 7)))
    counts = Counts()
    async with followed(script, tmp_path, counts=counts) as told:
        await until(lambda: told.world.keys() == {"a"})
    assert counts.ended["silent"] == 2
    assert [each.get("resourceVersion") for each in script.asked[:4]] == [None, "9000", "9001", None]


async def test_an_error_in_a_watch_does_not_have_everything_listed(tmp_path: Path) -> None:
    fault = [error_line(500, "InternalError", "etcdserver: leader changed")]
    script = Script(listed(3, one("a", 1)), fault, event("ADDED", one("b", 4)))
    async with followed(script, tmp_path) as told:
        await until(lambda: "b" in told.world)
    assert len(script.lists) == 1


async def test_a_watch_that_ends_at_once_is_not_asked_for_all_the_time(tmp_path: Path) -> None:
    script, counts = Script(listed(3, one("a", 1)), *[[] for _ in range(50)]), Counts()
    async with followed(script, tmp_path, counts=counts) as told:
        await until(told.informer.synced.is_set)
        await asyncio.sleep(3)
        assert told.informer.condition.phase is Phase.STALE
    assert counts.ended["short"] in range(2, 5)
    assert len(script.lists) == 1


async def test_what_is_no_list_is_told_and_nothing_is_handed_over(tmp_path: Path) -> None:
    page = web.Response(text="<html>please log in</html>", content_type="text/html")
    async with followed(Script(page, web.Response(text="{}")), tmp_path) as told:
        await until(lambda: told.informer.condition.phase is Phase.STALE)
        assert "list configmaps in namespace shop" in told.informer.condition.error
        assert not told.informer.synced.is_set()
    assert told.batches == []


async def test_an_object_that_cannot_be_taken_stays_as_it_was_and_holds_back_no_other(tmp_path: Path) -> None:
    def picky(body: bytes) -> Data:
        data = data_of(body)
        if "fault" in data:
            raise ZeroDivisionError
        return data

    script = Script(
        listed(3, one("a", 1, n="1"), one("never", 2, fault="")),
        event("MODIFIED", one("a", 4, fault="")) + event("ADDED", one("b", 5)),
    )
    async with answering(script, tmp_path) as api:
        informers = Informers(api, namespaces=["shop"], tuning=PAGED)
        told = Told(informers.informer(CONFIG_MAPS, picky))
        async with running(informers):
            await until(lambda: "b" in told.world)
    assert told.world == {"a": {"n": "1"}, "b": {}}


async def test_a_follower_that_fails_takes_nothing_from_the_others(tmp_path: Path) -> None:
    def fail(changes: Sequence[Change[Data]]) -> None:
        raise ZeroDivisionError(len(changes))

    script = Script(listed(3, one("a", 1)), event("ADDED", one("b", 4)))
    async with followed(script, tmp_path) as told:
        told.informer.follow(fail)
        late = Told(told.informer)
        await until(lambda: "b" in told.world and "b" in late.world)


async def test_events_that_come_together_are_told_together(tmp_path: Path) -> None:
    burst = b"".join(event("ADDED", one(f"m{n}", n + 10)) for n in range(20)) + event("DELETED", one("m0", 40))
    async with followed(Script(listed(3), burst), tmp_path) as told:
        await until(lambda: len(told.world) == 19)
    assert len(told.batches) < 10  # one, where nothing else has to have its turn
    assert told.informer.store.get(ItemKey("shop", "m0")) is None
