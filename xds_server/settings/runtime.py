"""The section `log`: what the process says about itself."""

from __future__ import annotations

from typing import Literal

from xds_server.settings.base import Section


class Log(Section):
    """The section `log`: what is logged to standard error, and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least grave level that is logged."""
    format: Literal["auto", "console", "json"] = "auto"
    """For people, for programs, or `auto`: for people on a terminal."""
