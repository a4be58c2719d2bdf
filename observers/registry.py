"""Observers of other distributions, made by the factories that these register as entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from observers.base import Observer

GROUP = "tidegate.observers"

Factory = Callable[..., Observer]
"""Called with `name=` and the keys of the section."""


def plugged_in(sections: Mapping[str, Mapping[str, object]]) -> list[Observer]:
    """An observer for each section, whose key is the entry point's name."""
    observers: list[Observer] = []
    for name, options in sections.items():
        factory: Factory = next(iter(entry_points(group=GROUP, name=name))).load()
        observers.append(factory(name=name, **options))
    return observers
