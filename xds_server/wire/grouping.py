"""Which group a node is in: the operator's rules first, then what the node says of itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from envoy.config.core.v3 import base_pb2
from google.protobuf.struct_pb2 import Struct, Value

GROUP_METADATA = "tidegate.dev/group"
"""The metadata key by which a node names its group."""

DEFAULT = "default"
"""The group of a node that nothing else is known of."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Nodes that fit are of `group`. What is None or empty fits every node; all the rest must hold.

    `id` and `cluster` are patterns (`*`, `?`, `[…]` as in file names), the parts of the locality exact. Keys of
    `metadata` are names, or else paths with dots; a mapping must be contained in the node's, any other value equal.
    """

    group: str
    id: str | None = None
    cluster: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    region: str | None = None
    zone: str | None = None
    sub_zone: str | None = None


class Grouping:
    """The rules in their order; the first that fits counts."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = [(rule, _matcher(rule.id), _matcher(rule.cluster)) for rule in rules]

    def group_of(self, node: base_pb2.Node) -> str:
        """The group: by the rules, else `metadata["tidegate.dev/group"]`, else the cluster, else `default`."""
        for rule, id_pattern, cluster_pattern in self._rules:
            if id_pattern.match(node.id) and cluster_pattern.match(node.cluster) and _fits(rule, node):
                return rule.group
        fields = node.metadata.fields
        named = fields[GROUP_METADATA].string_value if GROUP_METADATA in fields else ""
        return str(named or node.cluster or DEFAULT)


def _matcher(pattern: str | None) -> re.Pattern[str]:
    return re.compile(translate("*" if pattern is None else pattern))


def _fits(rule: Rule, node: base_pb2.Node) -> bool:
    here = node.locality
    wanted = ((rule.region, here.region), (rule.zone, here.zone), (rule.sub_zone, here.sub_zone))
    return all(want in (None, have) for want, have in wanted) and _contains(node.metadata, rule.metadata)


def _contains(have: Struct, want: Mapping[str, object]) -> bool:
    return all(any(_equals(value, found) for found in _found(have, key)) for key, value in want.items())


def _found(struct: Struct, key: str) -> Iterator[Value]:
    """The value of that name, then those that the name leads to as a path."""
    if key in struct.fields:
        yield struct.fields[key]
    for dot in re.finditer(r"\.", key):
        inner = struct.fields.get(key[: dot.start()])
        if inner is not None and inner.HasField("struct_value"):
            yield from _found(inner.struct_value, key[dot.end() :])


def _equals(want: object, have: Value) -> bool:
    """Equal in type and value; a mapping that is wanted may be a part of the one that is there."""
    kind = have.WhichOneof("kind")
    if kind == "struct_value":
        return isinstance(want, Mapping) and _contains(have.struct_value, want)
    if kind == "list_value":
        values = have.list_value.values
        if not isinstance(want, list | tuple) or len(want) != len(values):
            return False
        return all(_equals(each, value) for each, value in zip(want, values, strict=True))
    if kind == "number_value":
        return isinstance(want, int | float) and not isinstance(want, bool) and want == have.number_value
    if kind == "bool_value":
        return isinstance(want, bool) and want == have.bool_value
    return want == have.string_value if kind == "string_value" else kind == "null_value" and want is None
