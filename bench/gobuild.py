"""Builds the Go peer and the Go load generator, where there is Go and somebody has their sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCES = "TIDEGATE_BENCH_PEER"
"""The environment variable that names the folder with `goxds/` and `xdsload/`."""


class BuildError(RuntimeError):
    """The sources can't be built."""


@dataclass(frozen=True, slots=True)
class GoTools:
    """The built programs: the peer (a server of go-control-plane) and the load generator."""

    peer: Path
    generator: Path


def build() -> GoTools | None:
    """Build both into the user's cache; None without Go or without sources.

    Raises:
        BuildError: a source is missing or does not compile.
    """
    go, sources = shutil.which("go"), os.environ.get(SOURCES)
    if go is None or not sources:
        return None
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return GoTools(*(_build(go, Path(sources) / name, folder / name) for name in ("goxds", "xdsload")))


def cache_folder() -> Path:
    """Where the programs go (XDG Base Directory Specification: `XDG_CACHE_HOME`, else `~/.cache`)."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "tidegate-bench"


def _build(go: str, source: Path, binary: Path) -> Path:
    if not (source / "go.mod").exists():
        raise BuildError(f"{SOURCES}: there is no Go module in {source}")
    done = subprocess.run(
        [go, "build", "-o", str(binary), "."], cwd=source, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise BuildError(f"go build in {source} failed:\n{done.stderr[-2000:]}")
    return binary
