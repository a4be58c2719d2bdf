"""The producer and the consumer of docker-compose.yaml (`orders.py produce`, `orders.py consume`)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

KAFKA = os.environ["KAFKA"]
TOPIC, GROUP = "orders", "orders"

PRODUCED, CONSUMED = 50, 400
"""Messages a second: that come in, and that the consumer manages."""

BEAT = 0.1
"""Seconds of work at a time; after each the consumer commits what it did."""


async def produce() -> None:
    """Send orders at a steady rate. What a broker that was away has missed is not sent later."""
    async with AIOKafkaProducer(bootstrap_servers=KAFKA) as client:
        due = time.monotonic()
        while True:
            await asyncio.gather(*[client.send_and_wait(TOPIC, b"an order") for _ in range(int(PRODUCED * BEAT))])
            tell_alive()
            due = max(due + BEAT, time.monotonic() - 1)
            await asyncio.sleep(due - time.monotonic())


async def consume() -> None:
    """Take its time over each order, so that one sees it catch up."""
    settings = {"bootstrap_servers": KAFKA, "group_id": GROUP, "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer(TOPIC, **settings, enable_auto_commit=False) as client:
        while True:
            batches = await client.getmany(timeout_ms=int(BEAT * 1000), max_records=int(CONSUMED * BEAT))
            await asyncio.sleep(sum(map(len, batches.values())) / CONSUMED)
            if batches:
                await client.commit()
            tell_alive()


def tell_alive() -> None:
    """For the health check."""
    Path("/tmp/alive").touch()  # noqa: S108  # a file system of the container's own


async def main(work: str) -> None:
    """Work until SIGTERM, then leave in order: a consumer that says goodbye need not be waited for."""
    task = asyncio.ensure_future({"produce": produce, "consume": consume}[work]())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
