"""What a reflector does after what happened."""

from __future__ import annotations

import pytest

from k8s_source.client.errors import ApiError
from k8s_source.informer.condition import Phase
from k8s_source.informer.plan import SHORT, SILENT, Plan
from k8s_source.informer.wire import BROKEN
from k8s_source.workqueue.rate import Backoff

GONE = ApiError(410, "Expired", "too old resource version")
CUT = ApiError(0, "ClientPayloadError", "cut")
FAULT = ApiError(500, "InternalError", "etcdserver: leader changed")


def watching() -> Plan:
    plan = Plan(backoff=Backoff(base=1.0, most=30.0, jitter=0.0))
    plan.listed("7")
    return plan


def test_a_version_that_is_gone_is_listed_anew_and_the_pauses_grow() -> None:
    plan = watching()
    pauses = []
    for _ in range(7):
        pauses.append(plan.failed(GONE))
        assert plan.version == ""
        plan.listed("8")
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert sum(pauses[:4]) < 30 < sum(pauses[:5])


@pytest.mark.parametrize("last", [CUT, ApiError(503, "ServiceUnavailable", "not all paths have been installed")])
def test_after_an_outage_the_list_does_not_wait_as_long_as_the_outage_lasted(last: ApiError) -> None:
    plan = watching()
    for _ in range(9):
        plan.failed(CUT)
    assert plan.failed(last) == 30
    assert plan.failed(GONE) == 1, "the server is back, and what it has is not known"
    plan.listed("8")
    assert [plan.failed(GONE) for _ in range(3)] == [2, 4, 8], "lists that are too old at once go on to be spread"


def test_a_watch_that_is_cut_and_then_too_old_again_and_again_waits_longer_each_time() -> None:
    plan = watching()
    pauses = []
    for _ in range(3):
        plan.failed(CUT)
        pauses.append(plan.failed(GONE))
        plan.listed("8")
    assert pauses == sorted(set(pauses)), "a cut is no outage"


def test_a_version_of_the_future_is_listed_anew() -> None:
    plan = watching()
    plan.failed(ApiError(504, "Timeout", "Too large resource version: 9000, current: 12"))
    assert plan.version == ""


@pytest.mark.parametrize(
    "error",
    [
        CUT,
        ApiError(0, "ClientConnectorError", "refused"),
        ApiError(0, SHORT, ""),
        ApiError(401, "Unauthorized", ""),
        ApiError(403, "Forbidden", ""),
        ApiError(429, "TooManyRequests", ""),
    ],
    ids=lambda error: error.reason,
)
def test_no_number_of_these_makes_it_list_anew(error: ApiError) -> None:
    plan = watching()
    for _ in range(20):
        plan.failed(error)
    assert plan.version == "7"


@pytest.mark.parametrize(
    "error", [FAULT, ApiError(0, BROKEN, "half a line"), ApiError(0, SILENT, "")], ids=lambda error: error.reason
)
def test_two_errors_or_silences_at_one_version_make_it_list_anew(error: ApiError) -> None:
    plan = watching()
    plan.failed(error)
    assert plan.version == "7"
    plan.reached("8")
    plan.failed(error)
    assert plan.version == "8"
    plan.failed(CUT)
    plan.failed(error)
    assert plan.version == ""


def test_the_server_may_ask_for_more_patience() -> None:
    assert watching().failed(ApiError(429, "TooManyRequests", "", retry_after=9.0)) == 9.0


def test_a_watch_that_lived_begins_the_pauses_anew() -> None:
    plan = watching()
    assert [plan.failed(CUT) for _ in range(3)] == [1, 2, 4]
    plan.lived(29)
    assert plan.failed(CUT) == 8
    plan.lived(30)
    assert plan.failed(CUT) == 1
    assert plan.failed(CUT) == 2
    plan.reached("8")
    assert plan.failed(CUT) == 1


def test_the_first_cut_says_nothing_and_the_second_does() -> None:
    plan = watching()
    plan.failed(CUT)
    assert plan.phase_of(CUT) is None
    plan.failed(CUT)
    assert plan.phase_of(CUT) is Phase.STALE


@pytest.mark.parametrize(
    ("error", "phase"),
    [
        (ApiError(401, "Unauthorized", ""), Phase.FORBIDDEN),
        (ApiError(403, "Forbidden", ""), Phase.FORBIDDEN),
        (ApiError(0, SILENT, ""), Phase.STALE),
    ],
    ids=lambda given: given.reason if isinstance(given, ApiError) else given,
)
def test_what_is_told_at_once(error: ApiError, phase: Phase) -> None:
    plan = watching()
    plan.failed(error)
    assert plan.phase_of(error) is phase


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_streams_no_lists_is_asked_for_pages_at_once_and_from_then_on(status: int) -> None:
    plan = Plan()
    assert plan.streams
    assert plan.failed(ApiError(status, "Invalid", "sendInitialEvents is forbidden")) == 0
    assert not plan.streams
    plan.listed("7")
    plan.start_over()
    assert not plan.streams
    assert plan.failed(ApiError(status, "Invalid", "still")) > 0


@pytest.mark.parametrize("reason", [SILENT, SHORT])
def test_a_streamed_list_that_is_never_whole_is_followed_by_one_in_pages(reason: str) -> None:
    plan = Plan()
    plan.failed(ApiError(0, reason, ""))
    assert not plan.streams
    plan.listed("7")
    assert plan.streams


def test_a_page_that_has_expired_is_followed_by_a_list_in_one() -> None:
    plan = Plan()
    plan.failed(GONE)
    assert not plan.pages
    plan.listed("7")
    assert plan.pages


def test_an_event_without_a_version_changes_none() -> None:
    plan = watching()
    plan.reached("")
    assert plan.version == "7"
