"""The servers under test, and the two load generators: how each is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.shapes import ENVOY_EXTENSIONS, Shape


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a server under test listens: ADS, and HTTP for `POST /publish`."""

    xds: int
    http: int


Command = Callable[[Shape, Ports], list[str]]


@dataclass(frozen=True, slots=True)
class Contender:
    """A server under test: a key, a title for tables, and its command line."""

    key: str
    title: str
    command: Command


def _python(module: str) -> Command:
    def command(shape: Shape, ports: Ports) -> list[str]:
        return [sys.executable, "-m", module, "--endpoints", str(shape.endpoints), *_common(shape, ports)]

    return command


def _common(shape: Shape, ports: Ports) -> list[str]:
    addresses = ["--listen", f"127.0.0.1:{ports.xds}", "--http", f"127.0.0.1:{ports.http}"]
    return [*addresses, "--clusters", str(shape.clusters), "--routes", str(shape.routes)]


TIDEGATE = Contender("tidegate", "Tidegate", _python("bench.tidegate_server"))
NAIVE = Contender("naive", "naive", _python("bench.naive_server"))


def go_peers(binary: Path) -> tuple[Contender, ...]:
    """go-control-plane with each of its caches."""

    def peer(cache: str) -> Contender:
        def command(shape: Shape, ports: Ports) -> list[str]:
            own = ["--cache", cache, "--endpoints-per-cluster", str(shape.endpoints)]
            return [str(binary), *own, *_common(shape, ports)]

        return Contender(f"go-{cache}", f"Go {cache}", command)

    return peer("snapshot"), peer("linear")


def go_generator(binary: Path) -> list[str]:
    """The load generator in Go."""
    return [str(binary)]


PYTHON_GENERATOR = [sys.executable, "-m", "bench.load"]
"""The load generator in Python: the same flags, as far as they are used here, and the same report."""


def load_flags(shape: Shape, ports: Ports, pid: int) -> list[str]:
    """The flags of either generator for a shape."""
    flags = ["--target", f"127.0.0.1:{ports.xds}", "--server-pid", str(pid), "--mode", shape.mode]
    flags += ["--streams", str(shape.streams), "--rounds", str(shape.changes)]
    flags += ["--trigger", f"http://127.0.0.1:{ports.http}/publish?mode=one"]
    if shape.node_always:
        flags += ["--node-extensions", str(ENVOY_EXTENSIONS), "--node-always"]
    return flags
