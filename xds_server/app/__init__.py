"""The composition root: makes every part out of the settings, joins them, runs them in one task group, ends them."""

from __future__ import annotations

from xds_server.app.serve import run

__all__ = ["run"]
