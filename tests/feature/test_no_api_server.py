"""A Kubernetes cluster that can't be reached from the start: that is told with what is wrong, and Tidegate goes on trying."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import SLACK
from xds_server.demo.control_plane import ControlPlane, Json
from xds_server.demo.polling import until


def _kubeconfig(folder: Path, server: str) -> Path:
    content: Mapping[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [{"name": "tests", "cluster": {"server": server}}],
        "users": [{"name": "tests", "user": {"token": "planted-token"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("case", ["no file", "nobody there", "another context"])
async def test_what_is_wrong_is_told_and_nothing_is_served(tmp_path: Path, case: str) -> None:
    config = _kubeconfig(tmp_path, "http://127.0.0.1:9")
    entry: Json = {"kind": "kubernetes", "kubeconfig": str(config)}
    words = {"no file": str(tmp_path / "none"), "nobody there": "127.0.0.1:9", "another context": "nowhere"}[case]
    if case == "no file":
        entry["kubeconfig"] = words
    if case == "another context":
        entry["context"] = words
    plane = ControlPlane(tmp_path, settings={"sources": [entry]})
    try:
        await plane.start(ready=False, within=20 * SLACK)

        async def told() -> Json | None:
            found: Json = (await plane.get("/v1/sources"))["sources"][0]
            return found if found["error"] and words in found["error"]["message"] else None

        found = await until(told, within=20 * SLACK, what=f"the error names {words}")
        assert not found["synced"]
        assert not await plane.ready()
        await asyncio.sleep(1)
        assert plane.child.returncode is None
        log = plane.child.tail(1000)
        assert "planted-token" not in log
        # Not with each try: of four kinds, most of which fail together.
        assert log.count("source_problem") <= 4
    finally:
        await plane.stop()
