"""Many small cases at once: they wait side by side, and what fails is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable


async def each(cases: Iterable[str], check: Callable[[str], Awaitable[None]]) -> None:
    """Run `check` for all cases side by side; raise an ExceptionGroup of those that fail, each with its name."""
    names = list(cases)
    results = await asyncio.gather(*(check(name) for name in names), return_exceptions=True)
    failures = []
    for name, result in zip(names, results, strict=True):
        if isinstance(result, Exception):
            result.add_note(f"case: {name}")
            failures.append(result)
        elif isinstance(result, BaseException):
            raise result
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(names)} cases", failures)
