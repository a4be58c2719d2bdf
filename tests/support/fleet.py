"""A Tidegate and real Envoys for one test; what they logged is shown when the test fails."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.support.binaries import CURRENT, envoy_command
from xds_server.demo.bootstrap import Mode
from xds_server.demo.control_plane import ControlPlane
from xds_server.demo.envoys import Envoy

log = logging.getLogger(__name__)

SLACK = float(os.environ.get("TIDEGATE_TEST_SLACK", "3"))
"""Limits of time are multiplied by this; they are meant for a quiet machine."""


class Fleet:
    """Starts processes for a test and ends them with it."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        """Keep all files below `folder`; `stack` ends what was started."""
        self._folder = folder
        self._stack = stack
        self.envoys: list[Envoy] = []

    def tidegate(self, settings: Mapping[str, Any] | None = None) -> ControlPlane:
        """Prepare a Tidegate that serves a files folder; the test writes to `files` and calls `start`."""
        plane = ControlPlane(self._folder, settings=settings)

        async def end() -> None:
            await plane.stop()
            log.info("tidegate:\n%s", plane.child.tail(60))

        self._stack.push_async_callback(end)
        return plane

    async def envoy(
        self,
        mode: Mode,
        xds: str,
        *,
        node: str = "",
        cluster: str = "default",
        version: str = CURRENT,
        certificates: Path | None = None,
        edit: Callable[[str], str] | None = None,
    ) -> Envoy:
        """Start an Envoy that is configured from `xds`; its node id is its mode unless `node` says otherwise.

        `edit` returns another text of its bootstrap file, which is JSON.
        """
        command = envoy_command(version)
        envoy = Envoy(
            self._folder,
            node or str(mode),
            mode,
            xds,
            cluster=cluster,
            command=command,
            certificates=certificates,
            level="info",
        )
        if edit is not None:
            envoy.bootstrap = edit(envoy.bootstrap)

        async def end() -> None:
            await envoy.stop()
            log.info("%s:\n%s", envoy.node, envoy.child.tail(30))

        self._stack.push_async_callback(end)
        await envoy.start()
        self.envoys.append(envoy)
        return envoy

    async def both(self, xds: str, edit: Callable[[str], str] | None = None) -> list[Envoy]:
        """Start one Envoy per protocol."""
        return [await self.envoy(mode, xds, edit=edit) for mode in (Mode.SOTW, Mode.DELTA)]

    async def urls(self, listener: str, scheme: str = "http") -> dict[str, str]:
        """Where each Envoy takes requests, by node, once `listener` is open there."""
        return {envoy.node: f"{scheme}://{await envoy.listener(listener)}/" for envoy in self.envoys}
