"""Run the demo from start to end: the processes, the load, the story or what people do by hand, and the exit code."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from enum import Enum, auto
from pathlib import Path

from xds_server.demo.bootstrap import BootstrapMissingError
from xds_server.demo.display import Display, Outcome
from xds_server.demo.envoys import EnvoyMissingError
from xds_server.demo.following import Follower
from xds_server.demo.load import Load
from xds_server.demo.processes import ProcessEndedError
from xds_server.demo.stage import Stage, open_stage
from xds_server.demo.story import Story

RATE = 60.0
"""Requests a second through each Envoy."""

PACE_ONCE, PACE = 1.5, 5.0
"""How long each step is watched, in seconds: with `--once`, and when people look on."""

TRAFFIC = 10.0
"""Seconds from one line on requests to the next while somebody works by hand."""

SHOWN = 8
"""How many steps the table at the end shows."""


class Plot(Enum):
    """What happens in the demo: the story again and again, one round of it, or what somebody does by hand."""

    ROUNDS = auto()
    ONCE = auto()
    BY_HAND = auto()


def run_demo(plot: Plot, *, admin_port: int = 0) -> int:
    """Run the demo until its end or Ctrl-C; return the exit code: 0 when nothing failed."""
    return asyncio.run(_Run(plot, admin_port=admin_port, display=Display()).until_stopped())


class _Run:
    """One run of the demo and what came of it."""

    def __init__(self, plot: Plot, *, admin_port: int, display: Display) -> None:
        self._plot = plot
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
            self._failed = self._failed or self._plot is Plot.ONCE
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
        parts = "Tidegate, two Envoys (state of the world and delta), three backends, a Kafka broker, a producer, a consumer"
        self._display.log("start", parts)
        async with open_stage(folder, self._admin_port) as stage, Load(stage.urls, rate=RATE) as load:
            self._display.addresses(stage.addresses())
            by_hand = self._plot is Plot.BY_HAND
            follower = Follower(stage, self._display, everything=by_hand)
            following = asyncio.create_task(follower.run())
            try:
                await (self._wait(stage, load) if by_hand else self._tell(stage, load, follower))
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                self._failed = load.failed > 0
                if load.failed:
                    self._display.log("error", load.failures())

    async def _tell(self, stage: Stage, load: Load, follower: Follower) -> None:
        story = Story(stage, load, self._display, follower, PACE_ONCE if self._plot is Plot.ONCE else PACE)
        self._outcomes.append(await story.begin())
        while self._passed:
            self._outcomes.extend(await story.round())
            if self._plot is Plot.ONCE:
                return

    async def _wait(self, stage: Stage, load: Load) -> None:
        """Change nothing, and tell how the load fares."""
        for text in (
            f"kill -STOP {stage.orders.consumer}   the consumer stands still, and lags",
            f"kill -CONT {stage.orders.consumer}   it goes on",
            f"kill -STOP {stage.broker.pid}   the broker does not answer: nobody knows the lag, and nothing changes",
            f"kill -CONT {stage.broker.pid}   it answers again",
            f"edit {stage.scene.folder}/gateway.yaml",
        ):
            self._display.log("try", text)
        while True:
            self._display.traffic(load.rate, load.sent, load.failed)
            await asyncio.sleep(TRAFFIC)

    def _show_logs(self, folder: Path) -> None:
        for log in sorted(folder.glob("*.log")):
            for line in log.read_text(errors="replace").splitlines()[-15:]:
                self._display.log(log.stem, line)
