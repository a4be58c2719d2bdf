"""A hypothesis strategy for messages of any type, made from their descriptors."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

from xds_server.translate.protos import ANY, class_of, descriptor_of, is_map, value_field
from xds_server.translate.sensitive import is_sensitive
from xds_server.wire.types import PREFIX

INSIDE = (
    "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    "envoy.config.route.v3.Route",
    "google.protobuf.StringValue",
    "google.protobuf.Duration",
)
"""Types that are put into Anys."""

_TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
_KINDS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def messages(draw: st.DrawFn, type_name: str, depth: int = 4) -> Any:
    """A message with some of its fields set, none of which holds a secret."""
    cls = class_of(type_name)
    descriptor = descriptor_of(type_name)
    assert cls is not None
    assert descriptor is not None
    message = cls()
    special = _special(draw, message, type_name, depth)
    if not special:
        candidates = [each for each in descriptor.fields if not is_sensitive(each)]
        for field in draw(st.lists(st.sampled_from(candidates), max_size=6, unique=True)) if candidates else ():
            _fill(draw, message, field, depth)
    return message


def _special(draw: st.DrawFn, message: Any, type_name: str, depth: int) -> bool:
    """Set the types whose values are not free."""
    if type_name == ANY:
        inner = draw(st.sampled_from(INSIDE))
        message.type_url = PREFIX + inner
        message.value = draw(messages(inner, depth - 1)).SerializeToString()
    elif type_name == "google.protobuf.Duration":
        message.seconds = draw(st.integers(0, 10**9))
        message.nanos = draw(st.integers(0, 999)) * 1_000_000
    elif type_name == "google.protobuf.Timestamp":
        message.seconds = draw(st.integers(0, 10**9))
    elif type_name == "google.protobuf.Struct":
        message.update(draw(st.dictionaries(_TEXT, _JSON, max_size=2)))
    elif type_name == "google.protobuf.Value":
        message.string_value = draw(_TEXT)
    elif type_name == "google.protobuf.FieldMask":
        message.paths.extend(draw(st.lists(st.sampled_from(["a", "b_c"]), max_size=2)))
    else:
        return False
    return True


def _fill(draw: st.DrawFn, message: Any, field: FieldDescriptor, depth: int) -> None:
    inner = value_field(field) if is_map(field) else field
    if inner.message_type is not None and depth <= 0:
        return
    if is_map(field):
        key_field = _entry(field).fields_by_name["key"]
        key = draw(_TEXT if key_field.cpp_type == FieldDescriptor.CPPTYPE_STRING else _KINDS[key_field.cpp_type])
        target = getattr(message, field.name)
        if inner.message_type is None:
            target[key] = draw(_scalar(inner))
        else:
            target[key].CopyFrom(draw(messages(inner.message_type.full_name, depth - 1)))
    elif field.is_repeated:
        count = draw(st.integers(1, 2))
        strategy = _scalar(field) if field.message_type is None else messages(field.message_type.full_name, depth - 1)
        getattr(message, field.name).extend(draw(strategy) for _ in range(count))
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(draw(messages(field.message_type.full_name, depth - 1)))
    else:
        setattr(message, field.name, draw(_scalar(field)))


def _entry(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=5)
    return _TEXT if field.cpp_type == FieldDescriptor.CPPTYPE_STRING else _KINDS[field.cpp_type]
