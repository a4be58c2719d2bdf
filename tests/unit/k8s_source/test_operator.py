"""How soon the operator tries again what failed."""

from __future__ import annotations

from k8s_source.operator import LIMITS
from k8s_source.workqueue.queue import WorkQueue
from tests.support.working import Counting


def test_after_an_outage_of_any_length_a_status_is_old_for_half_a_minute_at_most() -> None:
    queue: WorkQueue[str] = WorkQueue("q", Counting(), LIMITS)
    now, first = 0.0, 0.0
    while now < 3600.0:
        delay = queue.retry("shop/edge", now, 0.0)
        assert delay <= 30.0
        first = first or delay
        now += delay
    assert first <= 0.005, "what failed by chance is tried again at once"
