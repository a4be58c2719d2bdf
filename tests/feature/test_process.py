"""The process: what `serve` sets before it starts is there, and gRPC knows it."""

from __future__ import annotations

import os
import subprocess
import sys

_SERVE_ONE = """
import asyncio, os
from xds_server.process import listen_directly
listen_directly(os.environ)
import grpc.aio
async def main():
    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await server.stop(None)
    print(os.environ["GRPC_EXPERIMENTS"])
asyncio.run(main())
"""


def _serve_one(**more: str) -> subprocess.CompletedProcess[str]:
    usual = {name: value for name, value in os.environ.items() if name != "GRPC_EXPERIMENTS"}
    argv = [sys.executable, "-c", _SERVE_ONE]
    return subprocess.run(argv, env=usual | more, capture_output=True, text=True, timeout=60, check=True)


def test_grpc_knows_the_listener_that_serve_chooses() -> None:
    """A release without the experiment would say so, and the choice would be without effect."""
    ended = _serve_one()
    assert ended.stdout == "-event_engine_listener\n"
    assert "known experiment" not in ended.stderr


def test_grpc_says_when_it_knows_an_experiment_not() -> None:
    assert "known experiment" in _serve_one(GRPC_EXPERIMENTS="no_such_thing").stderr


def test_who_sets_the_experiments_has_the_last_word() -> None:
    assert _serve_one(GRPC_EXPERIMENTS="event_engine_listener").stdout == "event_engine_listener\n"
