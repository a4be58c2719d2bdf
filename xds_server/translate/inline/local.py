"""Whether a message reads from the machine on which Envoy runs: files and environment variables."""

from __future__ import annotations

from functools import cache
from typing import Any as Anything

from google.protobuf.message import Message

from xds_server.translate.messages import parse
from xds_server.translate.protos import ANY, children
from xds_server.translate.reach import Reach

_DATA_SOURCE = "envoy.config.core.v3.DataSource"


def is_local(message: Message) -> bool:
    """Whether a data source in it, at any depth, is a file or a variable."""
    anything: Anything = message
    if message.DESCRIPTOR.full_name == _DATA_SOURCE:
        return anything.WhichOneof("specifier") in {"filename", "environment_variable"}
    if message.DESCRIPTOR.full_name == ANY:
        inner = parse(anything.type_url, anything.value)
        return inner is not None and is_local(inner)
    wanted = _reach().fields(message.DESCRIPTOR)
    return any(
        is_local(each)
        for field, value in message.ListFields()
        if field.number in wanted
        for each in children(field, value)
    )


@cache
def _reach() -> Reach:
    return Reach(lambda each: each.full_name in {ANY, _DATA_SOURCE})
