"""What a reflector does after what happened: read on, list anew, or wait. Sans I/O; the model is client-go's reflector."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus

from k8s_source.client.errors import ApiError
from k8s_source.informer.condition import Phase
from k8s_source.informer.wire import BROKEN
from k8s_source.workqueue.rate import Backoff

SILENT = "Silent"
"""The reason of a watch that was given up because nothing came any more."""

SHORT = "ShortWatch"
"""The reason of a watch that the server ended at once and without an event, or before the list was whole."""

GOOD_WHILE = 30.0
"""Seconds that a watch must have lived for the next failure to count as the first."""

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_NO_STREAMS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""What servers without the feature WatchList answer to `sendInitialEvents`."""

_TOO_LARGE = "Too large resource version"
"""How the message begins when a server, restored from a backup say, is behind what we have seen."""


_OUTAGE = 3
"""So many failures in a row without an answer are an outage. A watch that is cut is none: waits would never grow for one
that is cut and then refused again and again."""


def _client_go() -> Backoff:
    """From 0.8 s to 30 s, each longer by a random part of up to as much."""
    return Backoff(base=1.6, most=30.0, jitter=0.5)


@dataclass(slots=True)
class Plan:
    """Where a reflector is. `version` is the resourceVersion to watch from; without one everything is listed.

    `has_streams` says that the server has, as far as is known, lists that are streamed; `pages` that a list comes in pages.
    """

    backoff: Backoff = field(default_factory=_client_go)
    version: str = ""
    failures: int = 0
    has_streams: bool = True
    pages: bool = True
    _was_unfinished: bool = False
    _away: int = 0
    _failed_at: str = ""

    @property
    def streams(self) -> bool:
        """Whether the next list is to be streamed."""
        return self.has_streams and not self._was_unfinished

    def reached(self, version: str) -> None:
        """An event or a bookmark told its version: it goes on. One that tells none changes nothing."""
        if version:
            self.version, self.failures = version, 0

    def listed(self, version: str) -> None:
        """Everything was read, as of this version."""
        self.version = version
        self.pages, self._was_unfinished = True, False

    def start_over(self) -> None:
        """List anew: what was known to the server by version is not any more."""
        self.version = ""

    def lived(self, seconds: float) -> None:
        """A watch has ended after so long, in order or not; it may have been a quiet one."""
        if seconds >= GOOD_WHILE:
            self.failures = 0

    def failed(self, error: ApiError) -> float:
        """Decide what comes next; the seconds to wait before it.

        The watch is taken up where it was, with three exceptions: the version is too old (410, in both forms), it is
        from a future that the server does not know, or it has led twice to an error of the server's or to silence: some
        servers say nothing at all to a version of the future.
        """
        if not self.version:
            if self._has_learnt(error):
                return 0.0
        elif error.is_gone or error.message.startswith(_TOO_LARGE) or self._is_stuck(error):
            self.start_over()
        if error.is_gone and self._away >= _OUTAGE:
            # It is back, and has answered: the waits that had grown meanwhile are for a server that does not.
            self.failures = 0
        is_away = not error.status or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        self._away = self._away + 1 if is_away else 0
        pause = max(self.backoff.delay(self.failures), error.retry_after or 0.0)
        self.failures += 1
        return pause

    def phase_of(self, error: ApiError) -> Phase | None:
        """What a failure makes of the kind; None for the first one of a row, which most often is a restart or a cut."""
        if error.status in _REFUSED:
            return Phase.FORBIDDEN
        return Phase.STALE if self.failures > 1 or error.reason == SILENT else None

    def _has_learnt(self, error: ApiError) -> bool:
        """A list failed: whether another way to read it is there. A page may expire before the next one is asked for."""
        self._was_unfinished = error.reason in {SILENT, SHORT}
        if self.streams and error.status in _NO_STREAMS:
            self.has_streams = False
            return True
        if error.is_gone:
            self.pages = False
        return False

    def _is_stuck(self, error: ApiError) -> bool:
        answered = error.reason in {BROKEN, SILENT} or (error.status and error.status not in _REFUSED)
        if not answered or error.status == HTTPStatus.TOO_MANY_REQUESTS:
            return False
        is_again, self._failed_at = self._failed_at == self.version, self.version
        return is_again
