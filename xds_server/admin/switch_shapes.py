"""The shapes of `/v1/switches`. Fields may be added, none renamed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from xds_server.admin.change_shapes import Reason
from xds_server.admin.shapes import Stamp

Route = Annotated[str, Meta(description="namespace/gateway/route, or * for all")]
Word = Annotated[str, Meta(description="read_only and freeze: on or off; degradation: auto, off or forced")]


class Switch(Struct):
    """What somebody has decided for the time being; `expires` is null for what stands until it is taken back.

    `read_only` is always there: when it is not set its value is off, `reason` and `by` are empty, and `since` is null.
    """

    route: Route
    value: Word
    reason: str
    by: str
    since: Stamp | None
    expires: Stamp | None


class Breaker(Struct):
    """The breaker on degradation. While it is open the newest verdicts of so many routes (`held`) of all do not count.

    `watched` are the routes that watch anything; the last three are its settings.
    """

    state: Annotated[str, Meta(description="closed or open")]
    since: Stamp | None
    held: int
    watched: int
    percent: int
    window_s: float
    minimum: int


class Switches(Struct):
    """All switches that are set."""

    read_only: Switch
    freeze: list[Switch]
    degradation: list[Switch]
    breaker: Breaker


class SwitchRequest(Struct, forbid_unknown_fields=True):
    """A switch to be set. `reason` is needed unless it is off; `by` and `since` are taken from who asks, and when."""

    route: Route = "*"
    value: Annotated[str | bool, Meta(description="As in Switch; true is on, false is off")] = "on"
    reason: Annotated[str, Meta(max_length=1000)] = ""
    by: Any = None
    since: Any = None
    expires: Annotated[datetime, Meta(tz=True)] | None = None


class SwitchesRequest(Struct, forbid_unknown_fields=True):
    """The keys that are given replace those that are set; of `freeze` and `degradation` the whole list.

    `reason` is for the switches that are taken back by that. `breaker` is ignored: it is there in what GET answers.
    """

    read_only: SwitchRequest | UnsetType | None = UNSET
    freeze: list[SwitchRequest] | UnsetType = UNSET
    degradation: list[SwitchRequest] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    breaker: Any = None
