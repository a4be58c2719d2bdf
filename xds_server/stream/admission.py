"""Admission: from the settings to the rules by which nodes are let in, and into which group."""

from __future__ import annotations

from collections.abc import Sequence

from xds_server.settings.fleet import GroupRule
from xds_server.wire.grouping import Grouping, Rule


def grouping_of(entries: Sequence[GroupRule]) -> Grouping:
    """The rules that the section `groups` writes down."""
    return Grouping([_rule(entry) for entry in entries])


def _rule(entry: GroupRule) -> Rule:
    match = entry.match
    places = match.locality.model_dump() if match.locality is not None else {}
    return Rule(entry.group, match.id, match.cluster, match.metadata, **places)
