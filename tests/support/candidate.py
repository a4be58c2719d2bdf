"""A replica that competes for a Lease, as a process of its own: `python -m tests.support.candidate KUBECONFIG NAMESPACE NAME SKEW`.

While it leads it acts twenty times a second, each time after asking whether it may. It prints a line of JSON for each
act, and for the beginning and end of leading; times are of the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from k8s_source.client.connect import Connection, connect
from k8s_source.lease.election import Election
from k8s_source.lease.elector import Timings
from k8s_source.lease.lock import LeaseLock
from tests.support.kafka_process import BrokerProcess

LEASE = "tidegate"
TIMINGS = Timings(lease_duration=4, renew_deadline=3, retry_period=0.5)

Act = tuple[str, float]
"""Who, and when."""


def say(what: str, name: str) -> None:
    """Print a line."""
    print(json.dumps({"what": what, "name": name, "at": time.monotonic()}), flush=True)  # noqa: T201


async def compete(kubeconfig: Path, namespace: str, name: str, skew: float) -> None:
    """Compete until SIGTERM."""
    api = connect(Connection(kubeconfig))
    election: Election

    async def lead() -> None:
        say("began", name)
        try:
            while True:
                if election.is_leader():
                    say("acted", name)
                await asyncio.sleep(0.05)
        finally:
            say("ended", name)

    lock = LeaseLock(api, namespace, LEASE)
    election = Election(lock, TIMINGS, name, lead, wall=lambda: time.time() + skew)
    running = asyncio.create_task(election.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await asyncio.wait([running])
    await api.close()


class Candidate:
    """Such a process, for the test that starts it."""

    def __init__(self, folder: Path, kubeconfig: Path, namespace: str, name: str, skew: float = 0.0) -> None:
        self.name = name
        command = [sys.executable, "-m", "tests.support.candidate", str(kubeconfig), namespace, name, str(skew)]
        self.process = BrokerProcess(command, folder / f"{name}.log")

    def told(self, what: str) -> list[float]:
        """When it told this."""
        lines = [json.loads(line) for line in self.process.printed.splitlines() if line.startswith('{"what"')]
        return [line["at"] for line in lines if line["what"] == what]


def acts(candidates: Sequence[Candidate]) -> list[Act]:
    """All acts of all of them, in order."""
    return sorted(((each.name, at) for each in candidates for at in each.told("acted")), key=lambda act: act[1])


def main() -> None:
    """See the module."""
    kubeconfig, namespace, name, skew = sys.argv[1:]
    uvloop.run(compete(Path(kubeconfig), namespace, name, float(skew)))


if __name__ == "__main__":
    main()
