"""Where one type of a client is to go, and the step that leads there."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

from xds_server.ir.refs import NO_NAMES, NO_REFS, merged
from xds_server.snapshot.typeset import Typeset
from xds_server.wire.resource import Resource
from xds_server.wire.response import Response
from xds_server.wire.types import CLUSTER

_OVERHEAD = 500


class Goal(NamedTuple):
    """What one client should have of one type for now.

    `withheld` are names that exist but are missing here, or have a content here that must not be sent, since this
    client may not get them yet (or again): it must not be told that they are absent. `overdue` is the number of
    contents whose wait for clusters has run out. `unknown` are those of `withheld` whose content this process does not
    know.
    `waits_for` is the key of the type whose answer is awaited, None when nothing is.
    """

    typeset: Typeset
    withheld: frozenset[str] = NO_NAMES
    overdue: int = 0
    waits_for: str | None = None
    unknown: frozenset[str] = NO_NAMES


class Step(NamedTuple):
    """What leads to a goal: a response (None when the client needs none) and what the client has after it.

    `warms` are the assignments for which the clusters in the response will wait, `releases` the names whose former
    contents refer to more than their new ones. Both are worked out once for all streams that take the step.
    """

    response: Response | None
    after: Typeset
    warms: frozenset[str] = NO_NAMES
    releases: frozenset[str] = NO_NAMES


def answer(response: Response, before: Typeset, after: Typeset) -> Step:
    """The step by which `response` leads from what a client has to what it has then."""
    told = [after.resources[name] for name, version in response.changes.items() if version is not None]
    warms = merged(*(each.refs for each in told)).assignments if response.type_url == CLUSTER else NO_NAMES
    return Step(response, after, warms, released(before, after, response.changes))


def released(before: Typeset, after: Typeset, names: Iterable[str]) -> frozenset[str]:
    """Those of `names` whose content before refers to more than that after."""
    olds = (before.resources.get(name) for name in names)
    referring = [old for old in olds if old is not None and old.refs is not NO_REFS]
    return frozenset(old.name for old in referring if _releases(old, after.resources.get(old.name))) or NO_NAMES


def _releases(old: Resource, new: Resource | None) -> bool:
    if not old.refs:
        return False
    return new is None or not (
        old.refs.clusters <= new.refs.clusters
        and old.refs.assignments <= new.refs.assignments
        and old.refs.routes <= new.refs.routes
        and old.refs.secrets <= new.refs.secrets
    )


def sized_names(names: frozenset[str]) -> tuple[frozenset[str], int]:
    """Names and about how many bytes their set holds."""
    return names, sys.getsizeof(names)


def sized(step: Step | None) -> tuple[Step | None, int]:
    """A step and about how many bytes it holds."""
    return step, _OVERHEAD + (len(step.response.message) + len(step.response.body) if step and step.response else 0)
