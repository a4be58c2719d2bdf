"""Finds who is to blame when Envoy refuses a set of resources. Pure: it is given the function that asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xds_server.wire.resource import Resource
from xds_server.wire.types import CLUSTER, ENDPOINT, LISTENER, ROUTE, SCOPED_ROUTE

Ask = Callable[[Sequence[Resource]], str | None]
"""Envoy's words if it refuses these resources, else None."""

_LEVELS = {ENDPOINT: 1, CLUSTER: 2, ROUTE: 3, SCOPED_ROUTE: 4, LISTENER: 5}
"""What is referred to comes first, so that a listener is not blamed for its routes; what is not listed is 0."""

_QUOTED = re.compile(r"'([^']{2,200})'")
_MOST_LIKELY = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """A resource that Envoy refuses, and its words."""

    resource: Resource
    words: str


def examine(resources: Sequence[Resource], ask: Ask) -> Iterator[Refusal]:
    """Each resource that is to blame, until Envoy takes what remains; what `ask` raises ends it.

    The shortest beginning of the list that is refused ends in one. The next is looked for without it.
    """
    rest = in_order(resources)
    while rest and (words := ask(rest)) is not None:
        refusal = _first(rest, ask, words)
        yield refusal
        rest.remove(refusal.resource)


def in_order(resources: Iterable[Resource]) -> list[Resource]:
    """What is referred to before what refers to it."""
    return sorted(resources, key=lambda each: (_LEVELS.get(each.type_url, 0), each.type_url, each.name))


def _first(resources: Sequence[Resource], ask: Ask, words: str) -> Refusal:
    """Halve, beginning with the ones that Envoy's words point to. Envoy takes the first `good`, not the first `bad`."""
    good, bad = 0, len(resources)
    guesses = [number for index in _likely(resources, words) for number in (index, index + 1)]
    while bad - good > 1:
        middle = next((guess for guess in guesses if good < guess < bad), (good + bad) // 2)
        answer = ask(resources[:middle])
        if answer is None:
            good = middle
        else:
            bad, words = middle, answer
    return Refusal(resources[bad - 1], words)


def _likely(resources: Sequence[Resource], words: str) -> list[int]:
    """The resources that have a name, or hold a text, that stands in the words; none when there are many."""
    for text in (*_QUOTED.findall(words), words.rpartition(": ")[2].strip()):
        data = text.encode()
        found = [index for index, each in enumerate(resources) if data and (each.name == text or data in each.body)]
        if 0 < len(found) <= _MOST_LIKELY:
            return found
    return []
