"""Admission: the one way from what a caller says it is to a node that may be served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xds_server.settings.fleet import GroupRule
from xds_server.stream.auth import Identity
from xds_server.translate.redact import redacted_struct
from xds_server.wire.grouping import Grouping, Rule
from xds_server.wire.node import NodeInfo, parse_node

_SHOWN = 200


class DeniedError(Exception):
    """The caller is known, and may not be given this group."""

    def __init__(self, node: NodeInfo, caller: Identity) -> None:
        allowed = ", ".join(caller.groups or ()) or "none"
        group = node.group if len(node.group) <= _SHOWN else f"{node.group[:_SHOWN]}…"
        who = f"node {node.id!r} is of group {group!r}"
        super().__init__(f"{who}; {caller.name} may be given: {allowed} (xds.auth.clients)")
        self.group = node.group
        self.identity = caller.name


def admit(raw: bytes, grouping: Grouping, caller: Identity) -> NodeInfo:
    """The node that these bytes describe, if the caller may be it. Its metadata are kept without secrets.

    Raises:
        RequestError: they describe none.
        DeniedError: the node is of a group that the caller may not be given.
    """
    node = parse_node(raw, grouping)
    if not caller.may_have(node.group):
        raise DeniedError(node, caller)
    return replace(node, metadata=redacted_struct(node.metadata)) if node.metadata else node


def grouping_of(entries: Sequence[GroupRule]) -> Grouping:
    """The rules that the section `groups` writes down."""
    return Grouping([_rule(entry) for entry in entries])


def _rule(entry: GroupRule) -> Rule:
    match = entry.match
    places = match.locality.model_dump() if match.locality is not None else {}
    return Rule(entry.group, match.id, match.cluster, match.metadata, **places)
