"""What `load` raises: one line for each thing that is wrong with the configuration."""

from __future__ import annotations

from collections.abc import Sequence


class SettingsError(ValueError):
    """The configuration can't be used. `lines` has one sentence per fault; `str()` is those lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)
