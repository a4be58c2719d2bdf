"""The demo's Kafka: a mock broker, a producer and a slow consumer, each a process of its own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from xds_server.demo.lag import LagReader
from xds_server.demo.polling import until
from xds_server.demo.processes import Child, ProcessEndedError, our_environment

TOPIC, GROUP = "orders", "orders"

PRODUCED, CONSUMED = 50.0, 400.0
"""Messages a second: that come in, and that the consumer manages."""


class MockBroker:
    """librdkafka's mock cluster in a process of its own."""

    def __init__(self, folder: Path) -> None:
        """Prepare a broker whose files go to `folder`; nothing runs yet."""
        self.bootstrap = ""
        self._folder = folder
        self._child: Child | None = None

    async def __aenter__(self) -> Self:
        """Start it and wait until it takes requests. Raises ProcessEndedError, TimeoutError."""
        address = self._folder / "kafka.address"
        self._child = await run_module("kafka", "mock_broker", str(address), folder=self._folder)
        self.bootstrap = await self._child.wait_for_file(address)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        if self._child is not None:
            await self._child.kill()

    @property
    def pid(self) -> int:
        """Its process id. Raises ProcessEndedError before the start."""
        if self._child is None:
            raise ProcessEndedError("the broker was not started")
        return self._child.pid


class Orders:
    """A producer and a slow consumer of the topic `orders`; `reader` is a look of our own at the consumer's lag."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        """Prepare both for the broker at `bootstrap`; nothing runs yet."""
        self.reader = LagReader(bootstrap, TOPIC, GROUP)
        self._folder = folder
        self._bootstrap = bootstrap
        self._children: dict[str, Child] = {}

    async def __aenter__(self) -> Self:
        """Start both, and wait until the consumer has committed something. Raises TimeoutError."""
        places = (self._bootstrap, TOPIC)
        for name, arguments in (("producer", (str(PRODUCED),)), ("consumer", (GROUP, str(CONSUMED)))):
            self._children[name] = await run_module(name, name, *places, *arguments, folder=self._folder)
        await until(self.reader.has_committed, within=10, what="the consumer has committed something")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End both."""
        for child in self._children.values():
            await child.kill()
        await self.reader.close()

    @property
    def consumer(self) -> int:
        """The consumer's process id. Raises KeyError before the start."""
        return self._children["consumer"].pid

    def pause(self) -> None:
        """Stop the consumer where it is; its lag grows."""
        self._children["consumer"].signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the consumer go on; it catches up."""
        self._children["consumer"].signal(signal.SIGCONT)


async def run_module(name: str, module: str, *arguments: str, folder: Path) -> Child:
    """Start a module of this package as a program; its log goes to `folder`."""
    command = [sys.executable, "-m", f"{__package__}.{module}", *arguments]
    return await Child.spawn(name, command, log=folder / f"{name}.log", environment=our_environment())
