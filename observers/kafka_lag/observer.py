"""The observer `kafka`: a sampler for each cluster that is configured."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from observers.base import Meter, Report, Sampling
from observers.kafka_lag.cluster import Cluster
from observers.kafka_lag.options import ClusterOptions
from observers.sampler import Sampler
from xds_server.ir.facts import LagQuery, Observation, Query

NO_CLUSTER = "no such cluster"
"""The state of a query for a cluster that is not configured."""


class KafkaLag:
    """Clusters are apart: each has its connections, its breaker and its task."""

    def __init__(
        self,
        name: str,
        clusters: Mapping[str, ClusterOptions],
        sampling: Sampling,
        meter: Meter,
        stall_samples: int = 6,
    ) -> None:
        """`clusters` by the name that a route uses; nothing is asked before `run`."""
        self.name = name
        self._clusters = {key: Cluster(options, sampling.timeout, stall_samples) for key, options in clusters.items()}
        self._samplers = {
            key: Sampler(name, key, cluster.ask, sampling=sampling, meter=meter)
            for key, cluster in self._clusters.items()
        }
        self._homeless: tuple[LagQuery, ...] = ()
        self._changed = asyncio.Event()

    def want(self, queries: Iterable[Query]) -> None:
        """Replace what is wanted; see `Observer.want`."""
        wanted = {query for query in queries if isinstance(query, LagQuery)}
        for name, sampler in self._samplers.items():
            sampler.want([query for query in wanted if query.cluster == name])
        self._homeless = tuple(sorted(query for query in wanted if query.cluster not in self._samplers))
        self._changed.set()

    async def run(self, report: Report) -> None:
        """Sample all clusters until cancelled. An error in one is logged, and ends all: the caller begins anew."""
        # The client's own lines repeat what observations say, three for each failed call.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tell_homeless(report))
                for sampler in self._samplers.values():
                    tasks.create_task(sampler.run(report))
        finally:
            for cluster in self._clusters.values():
                await cluster.close()

    def observations(self) -> list[Observation]:
        """What is known now; see `Observer.observations`."""
        known = [each for sampler in self._samplers.values() for each in sampler.observations()]
        return sorted([*known, *map(_homeless, self._homeless)], key=lambda each: str(each.query))

    async def _tell_homeless(self, report: Report) -> None:
        told: tuple[LagQuery, ...] = ()
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._homeless and self._homeless != told:
                report([_homeless(query) for query in self._homeless])
            told = self._homeless

    @property
    def connections(self) -> int:
        """How many connections to brokers are open."""
        return sum(cluster.connections for cluster in self._clusters.values())


def _homeless(query: LagQuery) -> Observation:
    why = f"observers.kafka.clusters has no {query.cluster}"
    return Observation(query, None, unknown=why, state=NO_CLUSTER, detail=why)
