"""The sections about the fleet: who belongs to which group, how a version is rolled out, what is made for it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.units import Count, Interval, Percent, Share

Name = Annotated[str, Field(min_length=1)]


class Locality(Section):
    """Where a node says that it is; what is given must be equal."""

    region: str | None = None
    """Region."""
    zone: str | None = None
    """Zone."""
    sub_zone: str | None = None
    """Part of a zone."""


class Match(Section):
    """What a node must be like; all that is given must fit."""

    id: str | None = None
    """Pattern for `node.id`, with `*`, `?` and `[…]` as in file names."""
    cluster: str | None = None
    """Pattern for `node.cluster`."""
    metadata: dict[str, object] = Field(default_factory=dict)
    """Keys of `node.metadata`, by name or by path with dots, and the values that they must have."""
    locality: Locality | None = None
    """Where the node says that it is."""

    @field_validator("metadata", mode="after")
    @classmethod
    def _can_be_met(cls, metadata: dict[str, object]) -> dict[str, object]:
        """A value that JSON lacks (YAML has dates) would fit no node."""
        for key, value in metadata.items():
            if not _is_json(value):
                raise PydanticCustomError("expected", f"text, a number, true, false, a list or a mapping for {key}")
        return metadata


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_json(each) for each in value.values())
    if isinstance(value, list | tuple):
        return all(_is_json(each) for each in value)
    return value is None or isinstance(value, str | int | float)


class GroupRule(Section):
    """One entry of `groups`: nodes that match are of that group. The first entry that fits counts."""

    match: Match
    """What a node must be like."""
    group: Name
    """The group that it gets."""


class Canary(Section):
    """How a new version is tried on a few nodes first."""

    nodes: Share = 1
    """How many nodes, or which part of the group."""
    soak: Interval = 10.0
    """How long they must run well before the others follow."""
    ack_timeout: Interval = 30.0
    """How long they may take to accept it."""


class Rollout(Section):
    """The section `rollout`: how a new version reaches the nodes of a group."""

    strategy: Literal["immediate", "canary"] = "immediate"
    """All nodes at once, or a few first."""
    canary: Canary = Canary()
    """The few."""


class Provision(Section):
    """The section `provision`: Envoy Deployments that Tidegate makes, one for each Gateway."""

    enabled: bool = False
    """Make them."""
    image: Name = "envoyproxy/envoy:v1.40.0"
    """Container image of Envoy."""


class DegradationBreaker(Section):
    """When too much would degrade at once to be true: verdicts are held, and decisions stay as they are."""

    percent: Percent = 50
    """It trips when more than this part of all routes that watch anything comes to be over; 100: never."""
    window: Interval = 60.0
    """Within so long; and so long few enough must be over before it closes by itself."""
    minimum: Count = 4
    """With fewer such routes than this it never trips."""


class Degradation(Section):
    """The section `degradation`: what holds for all routes that have a degraded way."""

    breaker: DegradationBreaker = DegradationBreaker()
    """The brake on degrading everything."""
