"""Find Envoys of several versions."""

from __future__ import annotations

import os

import pytest

from xds_server.demo.envoys import find_envoy

CURRENT = "1.40"


def envoy_command(version: str = CURRENT) -> str:
    """The `envoy` of this environment, or for another version what `TIDEGATE_ENVOY_1_36` (say) names; else skip.

    Raises EnvoyMissingError: without the current Envoy these tests must not look passed.
    """
    variable = f"TIDEGATE_ENVOY_{version.replace('.', '_')}"
    found = os.environ.get(variable)
    if not found and version != CURRENT:
        pytest.skip(f"set {variable} to the path of an Envoy {version}")
    return found or find_envoy()
