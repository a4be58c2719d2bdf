"""The observer `prometheus`: one sampler, for the one Prometheus that is configured."""

from __future__ import annotations

from collections.abc import Iterable

from observers.base import Meter, Report, Sampling
from observers.prometheus.options import Options
from observers.prometheus.target import Target
from observers.sampler import Sampler
from xds_server.ir.facts import Observation, Query, ValueQuery


class PrometheusValues:
    """Values of queries."""

    def __init__(self, name: str, options: Options, sampling: Sampling, meter: Meter) -> None:
        """Nothing is asked before `run`."""
        self.name = name
        self._target = Target(options, sampling.timeout)
        self._sampler = Sampler(name, name, self._target.ask, sampling=sampling, meter=meter)

    def want(self, queries: Iterable[Query]) -> None:
        """Replace what is wanted; see `Observer.want`."""
        self._sampler.want([query for query in queries if isinstance(query, ValueQuery)])

    async def run(self, report: Report) -> None:
        """Sample until cancelled."""
        try:
            await self._sampler.run(report)
        finally:
            await self._target.close()

    def observations(self) -> list[Observation]:
        """What is known now; see `Observer.observations`."""
        return self._sampler.observations()
