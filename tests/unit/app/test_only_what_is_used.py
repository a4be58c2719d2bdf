"""Client libraries that the settings give no work are not imported: they cost every process time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pytest

LIBRARIES = ("kubernetes_asyncio", "aiokafka", "opentelemetry.exporter.otlp")

PROGRAM = dedent("""
    import asyncio, json, sys
    from xds_server.app.build import build
    from xds_server.app.serve import run
    from xds_server.cli.main import app
    from xds_server.settings.root import Settings
    from xds_server.telemetry.tracing import from_environment
    import os

    async def made():
        from_environment("1", os.environ)
        return build(Settings.model_validate(json.loads(sys.argv[1])))

    asyncio.run(made())
    print(json.dumps([name for name in json.loads(sys.argv[2]) if any(each.startswith(name) for each in sys.modules)]))
""")

FILES = {"sources": [{"kind": "files", "path": "."}]}
KAFKA = FILES | {"observers": {"kafka": {"clusters": {"default": {"bootstrap": "127.0.0.1:9"}}}}}
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("settings", "environment", "used"),
    [
        (FILES, {}, []),
        ({"sources": [{"kind": "kubernetes", "kubeconfig": "nowhere"}]}, {}, ["kubernetes_asyncio"]),
        (KAFKA, {}, ["aiokafka"]),
        (FILES, COLLECTOR, ["opentelemetry.exporter.otlp"]),
    ],
)
def test_a_library_is_imported_only_for_what_needs_it(
    settings: Mapping[str, Any], environment: Mapping[str, str], used: list[str]
) -> None:
    command = [sys.executable, "-c", PROGRAM, json.dumps(settings), json.dumps(LIBRARIES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    assert json.loads(done.stdout.splitlines()[-1]) == used
