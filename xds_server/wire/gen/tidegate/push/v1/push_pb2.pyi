import datetime

from google.protobuf import any_pb2 as _any_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PutRequest(_message.Message):
    __slots__ = ("owner", "group", "version", "resources", "lease")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    version: str
    resources: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    lease: _duration_pb2.Duration
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PatchRequest(_message.Message):
    __slots__ = ("owner", "group", "version", "resources", "remove", "lease", "base")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    version: str
    resources: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    remove: _containers.RepeatedCompositeFieldContainer[ResourceName]
    lease: _duration_pb2.Duration
    base: str
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ..., remove: _Optional[_Iterable[_Union[ResourceName, _Mapping]]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., base: _Optional[str] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("owner", "group")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("owner", "group")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class ResourceName(_message.Message):
    __slots__ = ("type", "name")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    type: str
    name: str
    def __init__(self, type: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class PushedSet(_message.Message):
    __slots__ = ("owner", "group", "version", "changed", "counts", "lease", "expires", "snapshot", "problems", "stored")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    version: str
    changed: bool
    counts: _containers.ScalarMap[str, int]
    lease: _duration_pb2.Duration
    expires: _timestamp_pb2.Timestamp
    snapshot: Snapshot
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    stored: bool
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., changed: _Optional[bool] = ..., counts: _Optional[_Mapping[str, int]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expires: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ..., stored: _Optional[bool] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("version", "seq")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    version: str
    seq: int
    def __init__(self, version: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("reason", "message")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Conflicts(_message.Message):
    __slots__ = ("conflicts",)
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    conflicts: _containers.RepeatedCompositeFieldContainer[Conflict]
    def __init__(self, conflicts: _Optional[_Iterable[_Union[Conflict, _Mapping]]] = ...) -> None: ...

class Conflict(_message.Message):
    __slots__ = ("type", "name", "holder")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    type: str
    name: str
    holder: str
    def __init__(self, type: _Optional[str] = ..., name: _Optional[str] = ..., holder: _Optional[str] = ...) -> None: ...

class Current(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: str
    def __init__(self, version: _Optional[str] = ...) -> None: ...
