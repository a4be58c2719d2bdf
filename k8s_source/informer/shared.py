"""The informers of a process: each view of the API server is read once, however many follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import structlog

from k8s_source.client.api import Api
from k8s_source.client.resource import Resource
from k8s_source.informer.discovery import Discovery
from k8s_source.informer.informer import Informer
from k8s_source.informer.meter import Meter, NoMeter
from k8s_source.informer.target import Tools, Tuning

_log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")

AGAIN = 5.0
"""Seconds after which an informer that has failed, by a fault of the program, is started again."""

_Key = tuple[Resource, tuple[str, ...], str, str]


class Informers:
    """All informers. `namespaces` are those that are read where nothing else is asked for; none: all."""

    def __init__(
        self, api: Api, *, namespaces: Sequence[str] = (), meter: Meter | None = None, tuning: Tuning | None = None
    ) -> None:
        self._tools = Tools(api, Discovery(api), meter or NoMeter(), tuning or Tuning())
        self._namespaces = tuple(sorted(set(namespaces)))
        self._informers: dict[_Key, Informer[Any]] = {}
        self._group: asyncio.TaskGroup | None = None

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter(tuple(self._informers.values()))

    def informer(
        self,
        resource: Resource,
        parse: Callable[[bytes], T],
        *,
        labels: str = "",
        fields: str = "",
        namespaces: Sequence[str] | None = None,
    ) -> Informer[T]:
        """The informer of a view; the same one for all that ask for the same. It runs while `run` does.

        `labels` and `fields` are selectors as API servers take them. Raises ValueError when the view is read already and
        made into something else.
        """
        within = self._namespaces if namespaces is None else tuple(sorted(set(namespaces)))
        key = (resource, within, labels, fields)
        found = self._informers.get(key)
        if found is None:
            found = Informer(resource, parse, self._tools, namespaces=within, labels=labels, fields=fields)
            self._informers[key] = found
            if self._group is not None:
                self._start(self._group, found)
        elif found.parse is not parse:
            raise ValueError(f"{found.kind} is read already, and made into another type")
        return cast("Informer[T]", found)

    async def run(self) -> None:
        """Read everything until cancelled; informers that are asked for meanwhile join."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for each in self:
                    self._start(group, each)
                await asyncio.Event().wait()
            finally:
                self._group = None

    @staticmethod
    def _start(group: asyncio.TaskGroup, informer: Informer[Any]) -> None:
        group.create_task(_kept_running(informer), name=f"informer {informer.kind}")


async def _kept_running(informer: Informer[Any]) -> None:
    while True:
        try:
            await informer.run()
        except* Exception:  # noqa: BLE001 - the task's boundary: a fault with one kind is not to end the others
            _log.exception("an informer has failed, and is started again", resource=informer.kind)
        await asyncio.sleep(AGAIN)
