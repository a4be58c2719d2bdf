"""Callers that are turned away: each one is counted, and the same one is logged and audited once a minute."""

from __future__ import annotations

import structlog
from cachetools import TTLCache

from xds_server.credentials.reviewed import UnavailableError
from xds_server.status.audit import Audit
from xds_server.status.audit_entry import Action
from xds_server.stream.admission import DeniedError
from xds_server.stream.context import Meter

_AGAIN = 60.0
"""Seconds until the same is told again: who is turned away comes back every few seconds."""

_KNOWN = 1_000
_SHOWN = 200

_log = structlog.get_logger()


class TurnedAway:
    """Tells whoever should know."""

    def __init__(self, meter: Meter, audit: Audit | None) -> None:
        """Count with `meter`; without `audit` there is only the log."""
        self._meter = meter
        self._audit = audit
        self._told: TTLCache[str, None] = TTLCache(_KNOWN, _AGAIN)

    def unknown(self, peer: str) -> None:
        """Somebody could not say who it is."""
        self._meter.rejected("unauthenticated")
        if self._is_news(peer.rpartition(":")[0]):
            _log.warning("xds_unauthenticated", peer=peer)

    def unsure(self, peer: str, error: UnavailableError) -> None:
        """Somebody shows a token about which nobody can be asked now."""
        self._meter.rejected("not_reviewed")
        if self._is_news(str(error)):
            _log.warning("xds_token_not_reviewed", peer=peer, error=str(error))

    def denied(self, peer: str, error: DeniedError) -> None:
        """A known caller asked for a group that is not its own."""
        self._meter.rejected("denied")
        if not self._is_news(str(error)):
            return
        _log.warning("xds_denied", peer=peer, identity=error.identity, error=str(error))
        if self._audit is not None:
            self._audit.record(Action.DENIED, error.group[:_SHOWN], actor=error.identity, reason=str(error))

    def _is_news(self, what: str) -> bool:
        is_news = what not in self._told
        self._told.setdefault(what, None)
        return is_news
