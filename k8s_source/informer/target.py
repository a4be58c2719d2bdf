"""What a reflector reads, what it uses, and to whom it tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from k8s_source.client.api import Api
from k8s_source.client.resource import Resource
from k8s_source.informer.condition import Phase
from k8s_source.informer.discovery import Discovery
from k8s_source.informer.item import Item, ItemKey
from k8s_source.informer.meter import Meter
from k8s_source.informer.wire import Found

T = TypeVar("T")

PAGE = 500
"""Objects in a page of a list, as client-go asks for."""


class View(NamedTuple):
    """What is read: a kind, everywhere or in one namespace, all objects or those that selectors choose."""

    resource: Resource
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def kind(self) -> str:
        """As `kubectl` and RBAC name it: `endpointslices.discovery.k8s.io`."""
        group = self.resource.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural

    @property
    def where(self) -> str:
        """The kind and its namespace, for messages."""
        return f"{self.kind} in namespace {self.namespace}" if self.namespace else self.kind

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return self.resource.path(self.namespace)

    @property
    def selectors(self) -> tuple[tuple[str, str], ...]:
        """As parameters of a request."""
        given = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return tuple(each for each in given if each[1])


@dataclass(frozen=True, slots=True)
class Tuning:
    """How it is read; times in seconds.

    A watch lasts from half of `watch_timeout` to all of it, by chance, so that not all end at once. `poll` is the time
    between two questions for a kind that is not there. `streaming` lists by a watch where the server can; `page` is the
    size of the pages of other lists.
    """

    watch_timeout: float = 300.0
    poll: float = 10.0
    page: int = PAGE
    streaming: bool = True


@dataclass(frozen=True, slots=True)
class Tools:
    """What all reflectors of a process share."""

    api: Api
    discovery: Discovery
    meter: Meter
    tuning: Tuning = field(default_factory=Tuning)


class Target(Protocol[T]):
    """Who takes what a reflector reads."""

    def item(self, found: Found) -> Item[T] | None:
        """The item of an object; None for one that can't be made into an item and was not known before."""

    def replace(self, items: Mapping[ItemKey, Item[T]]) -> None:
        """These are all there are."""

    def put(self, item: Item[T]) -> None:
        """This one is new, or has changed."""

    def remove(self, found: Found) -> None:
        """This one is gone."""

    def heard(self) -> None:
        """The API server has given a sign of life."""

    def told(self, phase: Phase, error: str = "") -> None:
        """How well it goes."""
