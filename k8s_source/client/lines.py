"""Lines from chunks: a stream of bytes is cut where its lines end, however the network cut it. Sans I/O."""

from __future__ import annotations


class Lines:
    """Puts lines together. A line may come in any number of chunks: it is joined once, when it ends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def take(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, without their ends; empty ones are left out."""
        head, *rest = chunk.split(b"\n")
        self._parts.append(head)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts = [rest[-1]]
        return [line for line in lines if line.strip()]

    def rest(self) -> bytes:
        """What came after the last end of a line: a whole line of a reply that ends without one, or half a line."""
        return b"".join(self._parts).strip()
