"""Run the demo from start to end: the processes, the load, the story, and the exit code."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from pathlib import Path

from xds_server.demo.bootstrap import BootstrapMissingError
from xds_server.demo.display import Display, Outcome
from xds_server.demo.envoys import EnvoyMissingError
from xds_server.demo.load import Load
from xds_server.demo.processes import ProcessEndedError
from xds_server.demo.stage import open_stage
from xds_server.demo.story import Story

RATE = 60.0
"""Requests a second through each Envoy."""

PACE_ONCE, PACE = 1.5, 5.0
"""How long each step is watched, in seconds: with `--once`, and when people look on."""

SHOWN = 8
"""How many steps the table at the end shows."""


def run_demo(*, once: bool, admin_port: int = 0, display: Display | None = None) -> int:
    """Run the demo until Ctrl-C, or one round when `once`; return the exit code: 0 when nothing failed."""
    return asyncio.run(_Run(once=once, admin_port=admin_port, display=display or Display()).until_stopped())


class _Run:
    """One run of the demo and what came of it."""

    def __init__(self, *, once: bool, admin_port: int, display: Display) -> None:
        self._once = once
        self._admin_port = admin_port
        self._display = display
        self._outcomes: list[Outcome] = []
        self._failed = False

    async def until_stopped(self) -> int:
        """Play; Ctrl-C and SIGTERM make an orderly end. Return the exit code."""
        task = asyncio.create_task(self._play())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            # One round that was cut short has not shown what it should.
            self._failed = self._failed or self._once
            self._display.log("stopped", "everything that the demo started has ended")
        if self._outcomes:
            self._display.summary(self._outcomes[-SHOWN:])
        return 1 if self._failed or not self._passed else 0

    @property
    def _passed(self) -> bool:
        return all(outcome.passed for outcome in self._outcomes)

    async def _play(self) -> None:
        with tempfile.TemporaryDirectory(prefix="tidegate-demo-") as name:
            folder = Path(name)
            try:
                await self._play_in(folder)
            except (EnvoyMissingError, BootstrapMissingError, ProcessEndedError, TimeoutError) as error:
                self._failed = True
                self._display.log("error", str(error))
            if self._failed or not self._passed:
                self._show_logs(folder)

    async def _play_in(self, folder: Path) -> None:
        self._display.log("start", "Tidegate, two Envoys (state of the world and delta), two backends")
        async with open_stage(folder, self._admin_port) as stage:
            self._display.addresses(stage.addresses())
            async with Load(stage.urls, rate=RATE) as load:
                try:
                    await self._tell(Story(stage, load, self._display, PACE_ONCE if self._once else PACE))
                finally:
                    self._failed = load.failed > 0
                    if load.failed:
                        self._display.log("error", load.failures())

    async def _tell(self, story: Story) -> None:
        self._outcomes.append(await story.begin())
        while self._passed:
            self._outcomes.extend(await story.round())
            if self._once:
                return

    def _show_logs(self, folder: Path) -> None:
        for log in sorted(folder.glob("*.log")):
            for line in log.read_text(errors="replace").splitlines()[-15:]:
                self._display.log(log.stem, line)
