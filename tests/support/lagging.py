"""A consumer group whose lag is whatever a test wants: records that lie there, and commits set by hand."""

from __future__ import annotations

from tests.support.kafka_data import commit, produce


class LaggingGroup:
    """The commits of `group` on partition 0 of `topic`, to which nobody else produces; no record is ever read."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.topic = topic
        self.group = group
        self._bootstrap = bootstrap
        self._produced = 0

    async def fill(self, records: int) -> None:
        """Add records, so that the group may lag by as many; until it commits, it lags by them."""
        await produce(self._bootstrap, {(self.topic, 0): records})
        self._produced += records

    async def lag(self, records: int) -> None:
        """From now on the group lags by so many."""
        assert 0 <= records <= self._produced
        await commit(self._bootstrap, self.group, {(self.topic, 0): self._produced - records})
