"""Lines of files, for errors to show; none of a document that may hold a secret, since output ends up in logs."""

from __future__ import annotations

import re
from pathlib import Path

_SECRET = re.compile(
    r"-----BEGIN|private.?key|pkcs12|passw|passphrase|secret|token|credential|authorization|bearer|cookie"
    r"|users|\bkeys\b|ticket.?key|jwks|api.?key|inline.?(?:string|bytes)",
    re.IGNORECASE,
)
_XDS = "@type"
"""What every native document has; of anything else nobody knows what it is, so it is not shown."""

_LONG = re.compile(r"[\w+/=-]{32,}")
_MARKER = re.compile(r"---(?:\s|$)")
"""Begins a line that begins a document, even inside of a text (YAML 1.2.2, section 9.1.2)."""


class Excerpts:
    """A file is read once for all that is wrong with it."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str:
        """A line by its number from 1; "" when there is none, or no such file any more. Not to be shown as it is."""
        lines = self._lines(path)
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""

    def may_show(self, path: str, number: int, *, whole: bool) -> bool:
        """Whether a line can be shown, with the document around it in mind, or the `whole` file if that is broken."""
        lines = self._lines(path)
        if not whole:
            start, end = self._bounds(lines, number)
            lines = lines[start:end]
        text = "\n".join(lines)
        line = self.line(path, number)
        return bool(line) and _XDS in text and not (_SECRET.search(text) or _LONG.search(line))

    def has_more(self, path: str, number: int) -> bool:
        """Whether another document begins on a line or after it."""
        return any(_MARKER.match(line) for line in self._lines(path)[number - 1 :])

    @staticmethod
    def _bounds(lines: list[str], number: int) -> tuple[int, int]:
        """Where the document around a line begins and ends, as bounds of a slice."""
        marks = [index for index, line in enumerate(lines) if _MARKER.match(line)]
        start = max((mark for mark in marks if mark < number), default=0)
        return start, min((mark for mark in marks if mark >= number), default=len(lines))

    def _lines(self, path: str) -> list[str]:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    @staticmethod
    def _read(path: str) -> list[str]:
        try:
            return Path(path).read_text("utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError):
            return []
