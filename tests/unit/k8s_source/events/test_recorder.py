"""The recorder under virtual time, with an API that fails as a real one can't be made to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest
from structlog.testing import capture_logs

from k8s_source.client.errors import ApiError
from k8s_source.client.resource import Resource
from k8s_source.events.event import Event, Reference, Reporter, Type
from k8s_source.events.recorder import Recorder

pytestmark = pytest.mark.looptime

GROUP = Event(Reference("x.dev/v1", "Thing", "t", "ns", "u"), Type.NORMAL, "Made", "Make", "it is made")
ONE = Event(Reference("v1", "Pod", "p", "ns", "u"), Type.WARNING, "Failed", "Try", "it failed")


class Answers:
    """An API: `answer` is called for each request, and may raise; what went well is kept."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []
        self.created: dict[str, dict[str, Any]] = {}
        self.answer: Callable[[str], None] = lambda _call: None
        self.takes = 0.01

    async def request(self, method: str, path: str) -> bytes:
        await self._called(f"{method} {path}")
        return b'{"preferredVersion": {"groupVersion": "%s/v2"}}' % path.rpartition("/")[2].encode()

    async def create(self, resource: Resource, namespace: str, body: bytes) -> bytes:
        await self._called("create")
        made = msgspec.json.decode(body)
        if made["metadata"]["name"] in self.created:
            raise ApiError(409, "AlreadyExists", "already exists")
        self.created[made["metadata"]["name"]] = made
        return body

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, kind: Literal["json", "merge"]
    ) -> bytes:
        await self._called("patch")
        if name not in self.created:
            raise ApiError(404, "NotFound", "not found")
        self.created[name].update(msgspec.json.decode(body))
        return body

    async def _called(self, name: str) -> None:
        self.calls.append((name, asyncio.get_running_loop().time()))
        await asyncio.sleep(self.takes)
        self.answer(name)


class Count:
    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    def event_told(self, outcome: str) -> None:
        self.told[outcome] += 1


@asynccontextmanager
async def running(recorder: Recorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    yield
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def made(queued: int = 1000) -> tuple[Recorder, Answers, Count]:
    api, count = Answers(), Count()
    return Recorder(api, Reporter("tidegate.dev/x", "pod-0"), count, wall=lambda: 1e9, queued=queued), api, count


def raising(error: ApiError, times: int) -> Callable[[str], None]:
    left = iter([error] * times)

    def answer(_call: str) -> None:
        if (found := next(left, None)) is not None:
            raise found

    return answer


async def test_one_and_again_and_the_count_in_the_end() -> None:
    recorder, api, count = made()
    async with running(recorder):
        for _ in range(4):
            recorder.record(ONE)
            await asyncio.sleep(1)
        assert [name for name, _ in api.calls] == ["create", "patch"]
        await asyncio.sleep(800)
        assert [name for name, _ in api.calls] == ["create", "patch", "patch"]
    (event,) = api.created.values()
    assert event["series"] == {"count": 4, "lastObservedTime": "2001-09-09T01:46:40.000000Z"}
    assert count.told == {"written": 3}


async def test_an_event_that_is_gone_is_made_anew_with_its_series() -> None:
    recorder, api, _ = made()
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(1)
        api.created.clear()
        recorder.record(ONE)
        await asyncio.sleep(1)
    (event,) = api.created.values()
    assert [name for name, _ in api.calls] == ["create", "patch", "create"]
    assert event["series"] == {"count": 2, "lastObservedTime": "2001-09-09T01:46:40.000000Z"}


async def test_what_fails_is_tried_again_and_dropped_in_the_end() -> None:
    recorder, api, count = made()
    api.answer = raising(ApiError(503, "ServiceUnavailable", "not now"), 2)
    with capture_logs() as logs:
        async with running(recorder):
            recorder.record(ONE)
            await asyncio.sleep(5)
            assert count.told == {"written": 1}
            assert logs == []
            api.answer = raising(ApiError(0, "Timeout", "no answer"), 99)
            recorder.record(replace(ONE, reason="Other"))
            await asyncio.sleep(20)
            api.answer = lambda _call: None
            recorder.record(replace(ONE, reason="Third"))
            await asyncio.sleep(1)
    assert count.told == {"written": 2, "failed": 1}
    assert len(api.calls) == 3 + 4 + 1
    assert [(each["event"], each["namespace"]) for each in logs] == [("event_not_written", "ns")]


async def test_a_call_that_hangs_holds_up_the_others_for_so_long_only() -> None:
    recorder, api, count = made()
    api.takes = 1e6
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(51)
        assert count.told == {"failed": 1}


async def test_what_was_told_just_before_the_end_is_written() -> None:
    recorder, api, count = made()
    api.takes = 0.3
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(0.1)  # this one is on its way
        recorder.record(replace(ONE, reason="Other"))
    await recorder.flush()
    assert {event["reason"] for event in api.created.values()} == {"Failed", "Other"}
    assert count.told == {"written": 2}


async def test_the_end_does_not_wait_for_an_api_server_that_hangs() -> None:
    recorder, api, _ = made()
    api.takes = 1e6
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(0.1)
    began = asyncio.get_running_loop().time()
    await recorder.flush()
    assert asyncio.get_running_loop().time() - began == 1


async def test_what_is_refused_is_not_tried_again() -> None:
    recorder, api, count = made()
    api.answer = raising(ApiError(403, "Forbidden", "namespace ns is being terminated"), 9)
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(30)
    assert (len(api.calls), count.told) == (1, {"refused": 1})


async def test_an_answer_that_was_lost_is_no_second_event() -> None:
    recorder, api, count = made()
    lost = iter([True])

    async def create(resource: Resource, namespace: str, body: bytes) -> bytes:
        answer = await Answers.create(api, resource, namespace, body)
        if next(lost, False):
            raise ApiError(0, "ClientOSError", "connection reset")
        return answer

    api.create = create  # type: ignore[method-assign]
    async with running(recorder):
        recorder.record(ONE)
        await asyncio.sleep(5)
    assert (len(api.created), count.told) == (1, {"written": 1})


async def test_too_many_are_dropped_and_counted_and_nobody_waits() -> None:
    recorder, api, count = made(queued=10)
    for number in range(25):
        recorder.record(replace(ONE, reason=f"R{number}"))
    assert count.told == {"dropped": 15}
    async with running(recorder):
        await asyncio.sleep(1)
        assert count.told == {"dropped": 15, "written": 10}
        # What was dropped is told once it comes again, with its count.
        recorder.record(replace(ONE, reason="R24"))
        await asyncio.sleep(1)
    assert [event.get("series") for event in api.created.values() if event["reason"] == "R24"] == [
        {"count": 2, "lastObservedTime": "2001-09-09T01:46:40.000000Z"}
    ]


@pytest.mark.parametrize(
    "error",
    [
        ApiError(403, "Forbidden", "unable to create new content in namespace ns because it is being terminated"),
        ApiError(404, "NotFound", 'namespaces "ns" not found'),
    ],
    ids=lambda error: error.reason,
)
async def test_a_namespace_that_goes_with_thousands_of_objects_is_no_thousands_of_warnings(error: ApiError) -> None:
    recorder, api, count = made()
    api.answer = raising(error, 9)
    with capture_logs() as logs:
        async with running(recorder):
            recorder.record(ONE)
            await asyncio.sleep(30)
    assert count.told == {"refused": 1}
    assert not logs


async def test_an_event_names_its_object_in_the_version_that_clients_prefer() -> None:
    recorder, api, _ = made()
    async with running(recorder):
        for _ in range(3):
            recorder.record(replace(GROUP, reason=f"Made{len(api.created)}"))
            await asyncio.sleep(1)
        recorder.record(ONE)
        await asyncio.sleep(1)
    told = [(each["regarding"]["apiVersion"], each["regarding"]["name"]) for each in api.created.values()]
    assert told == [("x.dev/v2", "t")] * 3 + [("v1", "p")]
    assert [name for name, _ in api.calls].count("GET /apis/x.dev") == 1


async def test_a_version_that_changes_is_told_in_later_events_and_what_is_not_known_is_the_objects_own() -> None:
    recorder, api, count = made()
    api.answer = raising(ApiError(0, "NoAnswer", "refused"), 1)
    async with running(recorder):
        recorder.record(GROUP)
        await asyncio.sleep(1)
        recorder.record(replace(GROUP, reason="Again"))
        await asyncio.sleep(61)
        recorder.record(replace(GROUP, reason="Later"))
        await asyncio.sleep(1)
    assert [each["regarding"]["apiVersion"] for each in api.created.values()] == ["x.dev/v1", "x.dev/v2", "x.dev/v2"]
    assert [name for name, _ in api.calls].count("GET /apis/x.dev") == 3
    assert count.told == {"written": 3}
