"""The cluster of the settings: what works with it is imported only where there is one."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent("""
    import asyncio, sys
    from xds_server.app.build import build
    from xds_server.app.serve import run
    from xds_server.cli.main import app
    from xds_server.settings.root import Settings

    async def made():
        return build(Settings.model_validate({"sources": [SOURCE]}))

    cluster = asyncio.run(made()).cluster
    print(cluster is not None, any(name.startswith("kubernetes_asyncio") for name in sys.modules))
""")


@pytest.mark.parametrize(
    ("source", "has_cluster"),
    [({"kind": "files", "path": "."}, False), ({"kind": "kubernetes", "kubeconfig": "nowhere"}, True)],
)
def test_the_client_library_is_imported_only_for_a_cluster(source: dict[str, str], *, has_cluster: bool) -> None:
    program = PROGRAM.replace("SOURCE", repr(source))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(has_cluster)] * 2
