"""The benchmark of reading a cluster works, and its table has a ratio for each figure that both have."""

from __future__ import annotations

import asyncio

import pytest

from bench.kubernetes import measure
from bench.table import followers


@pytest.mark.timeout(300)
async def test_both_readers_are_measured() -> None:
    ours, naive = await asyncio.to_thread(measure, [(40, 20)], 2)
    assert (ours.reader, naive.reader, ours.slices, naive.gateways) == ("tidegate", "naive", 40, 20)
    assert all(figure > 0 for each in (ours, naive) for figure in (each.synced_s, each.memory_mib, each.idle_ms))
    assert followers([ours, naive]).count("x ") == 4
