"""Raw clients by the hundred: the conformance tests' client without its memory of every response."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.conformance.client import Stream
from tests.conformance.wire import Received

_KEPT = 8


class Light(Stream):
    """A stream that forgets all but the last responses; `counts` tells how many of each type came."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.counts: Counter[str] = Counter()

    def _take(self, response: Received) -> None:
        super()._take(response)
        del self.received[:-_KEPT]
        self.counts[response.key] += 1
