"""The sections about looking back and looking ahead: `history` and `preflight`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from xds_server.settings.base import Section
from xds_server.settings.units import Count, Filename, Interval


class History(Section):
    """The section `history`: which earlier versions are kept (on disk with `state_dir`, else in memory)."""

    count: Count = 100
    """Versions per group."""
    age: Interval = 168 * 3600.0
    """Older versions go, but never the current one."""
    secrets: Literal["omit", "encrypt"] = "omit"
    """Whether private keys are left out of what is stored, or stored encrypted."""
    key_file: Filename | None = None
    """File with the key for `encrypt`."""


class Preflight(Section):
    """The section `preflight`: a real Envoy checks what changed before it is served; what it refuses is left out."""

    enabled: bool = False
    """Check."""
    envoy: Annotated[str, Field(min_length=1)] = "envoy"
    """The command, by name or path."""
    timeout: Interval = 10.0
    """Time for the check of one change of a group; when it runs out the rest is served unchecked."""
