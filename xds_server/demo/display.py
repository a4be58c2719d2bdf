"""What the demo prints: one line per event, a table at the end; plain text when it is not a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

STYLES = {
    "version": "cyan",
    "ack": "green",
    "nack": "red",
    "change": "bold",
    "error": "bold red",
    "wrong": "red",
    "kafka": "yellow",
    "decision": "magenta",
}
"""Colour by the word at the head of a line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one step of the story went. `version` is the group's at its end; `took` is in seconds."""

    step: str
    version: str
    took: float
    sent: int
    failed: int
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether all checks held and no request failed."""
        return not self.problem and self.failed == 0


class Display:
    """Prints the demo's log."""

    def __init__(self, console: Console | None = None) -> None:
        """Print to `console`, by default standard output."""
        self._console = console or Console(highlight=False)
        if not self._console.is_terminal:
            self._console.width = max(self._console.width, 100)

    def log(self, head: str, text: str) -> None:
        """Print one line: time of day, what sort of event, text."""
        style = STYLES.get(head, "blue")
        line = f"[dim]{time.strftime('%H:%M:%S')}[/dim] [{style}]{head:<9}[/{style}] {escape(text)}"
        self._console.print(line, soft_wrap=True)

    def addresses(self, urls: Mapping[str, str]) -> None:
        """Print the URLs to open."""
        width = max(map(len, urls))
        for name, url in urls.items():
            self.log("open", f"{name:<{width}}  {url}")

    def acked(self, node: str, versions: Mapping[str, str]) -> None:
        """Print which version of each type a node has accepted."""
        self.log("ack", f"{node:<11}  " + "  ".join(f"{kind} {version[:8]}" for kind, version in versions.items()))

    def nacked(self, node: str, kind: str, version: str, message: str) -> None:
        """Print a refusal with Envoy's own words."""
        self.log("nack", f"{node:<11}  {kind} {version[:8]} refused: {message}")

    def traffic(self, rate: float, sent: int, failed: int) -> None:
        """Print how the load fares."""
        self.log("requests", f"{sent} sent, {rate:.0f}/s, failed requests: {failed}")

    def summary(self, outcomes: Sequence[Outcome]) -> None:
        """Print the table of all steps."""
        table = Table("step", "version", "took", "requests", "failed", "result", title="tidegate demo")
        for outcome in outcomes:
            result = "ok" if outcome.passed else outcome.problem or "failed requests"
            numbers = (f"{outcome.took:.2f} s", str(outcome.sent), str(outcome.failed))
            style = "green" if outcome.passed else "red"
            table.add_row(outcome.step, outcome.version[:8], *numbers, f"[{style}]{escape(result)}[/{style}]")
        self._console.print(table)
