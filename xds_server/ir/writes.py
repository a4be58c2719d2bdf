"""What was written to an API server: told by who writes, for the audit log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Write:
    """One change that was written. `before` and `after` are JSON values without secrets.

    `what` is the part that was written (`status`, `finalizer`, `lease`, …), `target` whose it is (`shop/checkout`), `actor` the
    identity of the replica that wrote, `reason` why.
    """

    what: str
    target: str
    actor: str
    reason: str
    before: object = None
    after: object = None
