"""The reflector: keeps a view as the API server has it, by lists and watches, for as long as it runs.

The rules are client-go's (tools/cache/reflector.go) and those of "Kubernetes API Concepts: efficient detection of changes".
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Generic, TypeVar

from k8s_source.client.errors import ApiError
from k8s_source.informer.condition import Phase
from k8s_source.informer.listing import Listing
from k8s_source.informer.plan import Plan
from k8s_source.informer.target import Target, Tools, View
from k8s_source.informer.watching import Watch

T = TypeVar("T")

JITTER = 0.2
"""The part by which the time between two questions for an absent kind varies: kinds of one start drift apart."""


class Reflector(Generic[T]):
    """One view. `run` ends only when it is cancelled."""

    def __init__(self, view: View, target: Target[T], tools: Tools) -> None:
        self._view, self._target, self._tools = view, target, tools
        self._plan = Plan(has_streams=tools.tuning.streaming)
        self._bookmarks = True
        self._has_sent_bookmarks = False

    async def run(self) -> None:
        """Read, follow, and begin again after whatever happens."""
        while True:
            pause = 0.0
            try:
                await self._follow()
            except ApiError as error:
                pause = await self._after(error)
            await asyncio.sleep(pause)

    async def _follow(self) -> None:
        plan = self._plan
        if not plan.version and not plan.streams:
            listing = Listing(self._view, self._target, self._tools)
            plan.listed(await listing.read(pages=plan.pages))
            self._target.told(Phase.WATCHING)
        watch = Watch(self._view, plan, self._target, self._tools, bookmarks=self._bookmarks)
        try:
            await watch.run()
        finally:
            self._has_sent_bookmarks = self._has_sent_bookmarks or watch.saw_bookmark
            # A server that never sends one is quiet, not frozen; one that has is expected to go on.
            self._bookmarks = self._has_sent_bookmarks or (self._bookmarks and not watch.is_silent)

    async def _after(self, error: ApiError) -> float:
        """What an error means; the seconds to wait before going on."""
        verb = "watch" if self._plan.version else "list"
        if error.is_not_found and await self._is_absent():
            self._target.told(Phase.ABSENT)
            await self._wait_for_kind()
            self._plan = replace(self._plan, version="", failures=0)
            return 0.0
        pause = self._plan.failed(error)
        phase = self._plan.phase_of(error)
        if phase is not None:
            self._target.told(phase, f"{verb} {self._view.where}: {error}")
        return pause

    async def _is_absent(self) -> bool:
        try:
            return not await self._tools.discovery.has(self._view.resource)
        except ApiError:
            return False  # The next try tells more.

    async def _wait_for_kind(self) -> None:
        while True:
            await asyncio.sleep(self._tools.tuning.poll * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret
            try:
                if await self._tools.discovery.has(self._view.resource):
                    return
            except ApiError:
                continue  # Nothing new is known of the kind; those that are there tell what is wrong.
