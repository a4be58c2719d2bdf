"""What the push source needs of the rest of the process; the composition root ties it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xds_server.ir.problem import Problem
from xds_server.sources.push.model import Changed, Place, PushedSet, Settled


class Ties(Protocol):
    """All calls belong on the event loop."""

    @property
    def restored(self) -> Mapping[Place, PushedSet]:
        """The sets that were in force before this process, as far as they were stored."""

    def keep(self, changed: Changed) -> None:
        """Have a change stored some time soon."""

    def record(self, changed: Changed, actor: str, reason: str) -> None:
        """Note a change in the audit log."""

    async def settled(self, group: str) -> Settled:
        """Wait until all that was handed over is served, and stored, but not too long; how far it has come then."""

    def problems(self, changed: Changed) -> Sequence[Problem]:
        """What of a set, or of what changed in it, is not in force for clients now, and why."""
