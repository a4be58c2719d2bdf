"""Wait for a fact with a deadline, for things that can only be asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(probe: Callable[[], Awaitable[T | None]], *, within: float, what: str, interval: float = 0.05) -> T:
    """Ask `probe` every `interval` seconds and return its first answer that is true.

    Raises TimeoutError, which names `what` and the last answer, after `within` seconds.
    """
    deadline = time.monotonic() + within
    while True:
        answer = await probe()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise TimeoutError(f"not within {within:g} s: {what} (last answer: {answer!r})")
        await asyncio.sleep(interval)
