"""The admin API against its own OpenAPI document: schemathesis sends what fits and what does not, and finds nothing.

Every answer has a status and a form that the document names, no 5xx; what does not fit is refused; what needs a token
is refused without; nothing hangs. `/v1/events` is left out: it has no end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.feature.fuzzing import fuzz, served
from tests.support.counts import long_or_short


async def _finds_nothing(folder: Path, roles: tuple[str, ...], callers: tuple[str, ...], examples: int) -> None:
    async with served(folder, *roles) as server:
        for caller in callers:
            await fuzz(server, caller, examples)
        log = (folder / "tidegate.log").read_text(encoding="utf-8")
        assert "admin_request_failed" not in log
        assert "Traceback" not in log
        assert await server.plane.ready()


@pytest.mark.timeout(120)
async def test_nothing_is_found_without_tokens(tmp_path: Path) -> None:
    await _finds_nothing(tmp_path, (), ("",), long_or_short(10, 4))


@pytest.mark.timeout(120)
async def test_nothing_is_found_with_tokens(tmp_path: Path) -> None:
    await _finds_nothing(tmp_path, ("reader", "operator"), ("operator", "reader"), long_or_short(8, 3))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("caller", ["", "operator"])
async def test_nothing_is_found_in_a_long_run(tmp_path: Path, caller: str) -> None:
    await _finds_nothing(tmp_path, ("reader", "operator") if caller else (), (caller,), 1000)
