"""Raw clients by the hundred: the conformance tests' client without its memory of every response."""

from __future__ import annotations

from tests.conformance.client import Stream
from tests.conformance.wire import Received

_KEPT = 8


class Light(Stream):
    """A stream that forgets all but the last responses; `count` and `bytes` tell how much came."""

    count = 0
    bytes = 0

    def _take(self, response: Received) -> None:
        super()._take(response)
        del self.received[:-_KEPT]
        self.count += 1
        self.bytes += response.size
