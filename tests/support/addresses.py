"""Addresses of this machine that are not loopback ones to an API server, which takes no others as endpoints."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def no_addresses() -> str:
    """Why none can be made here; "" when they can."""
    if os.geteuid() != 0:
        return "adding addresses to the loopback interface needs root"
    return "" if _ip() else "`ip` (iproute2) not found"


@contextmanager
def own_addresses(number: int) -> Iterator[list[str]]:
    """So many addresses of 10.0.0.0/8 on the loopback interface, as long as the block lasts."""
    base = f"10.{random.randrange(200, 250)}.{random.randrange(256)}"
    found = [f"{base}.{last}" for last in range(1, number + 1)]
    try:
        for address in found:
            subprocess.run([_ip(), "address", "add", f"{address}/32", "dev", "lo"], check=True)
        yield found
    finally:
        for address in found:
            subprocess.run([_ip(), "address", "del", f"{address}/32", "dev", "lo"], check=False)


def _ip() -> str:
    return shutil.which("ip") or ""
