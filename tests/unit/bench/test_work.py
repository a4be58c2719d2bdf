"""Counting work leaves nothing behind and counts what happened."""

from __future__ import annotations

import sys

from bench.work import count
from xds_server.wire import response
from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER


def test_it_counts_what_was_made() -> None:
    def make() -> None:
        resource = Resource("a", CLUSTER, b"body")
        response.sotw(CLUSTER, "1", [resource], {})

    work = count(make)
    assert (work.resources, work.responses) == (1, 1)
    assert work.built_bytes > len(b"body")
    assert work.calls > 0


def test_the_profiler_hook_is_as_before() -> None:
    before = sys.getprofile()
    count(lambda: None)
    assert sys.getprofile() is before
