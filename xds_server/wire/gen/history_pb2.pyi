from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Origin(_message.Message):
    __slots__ = ("source", "path", "document", "line", "api_version", "kind", "namespace", "name", "generation")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    source: str
    path: str
    document: int
    line: int
    api_version: str
    kind: str
    namespace: str
    name: str
    generation: int
    def __init__(self, source: _Optional[str] = ..., path: _Optional[str] = ..., document: _Optional[int] = ..., line: _Optional[int] = ..., api_version: _Optional[str] = ..., kind: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., generation: _Optional[int] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("name", "version", "body", "sealed", "clusters", "assignments", "routes", "secrets", "origins")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    ORIGINS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    body: bytes
    sealed: bytes
    clusters: _containers.RepeatedScalarFieldContainer[str]
    assignments: _containers.RepeatedScalarFieldContainer[str]
    routes: _containers.RepeatedScalarFieldContainer[str]
    secrets: _containers.RepeatedScalarFieldContainer[str]
    origins: _containers.RepeatedCompositeFieldContainer[Origin]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., body: _Optional[bytes] = ..., sealed: _Optional[bytes] = ..., clusters: _Optional[_Iterable[str]] = ..., assignments: _Optional[_Iterable[str]] = ..., routes: _Optional[_Iterable[str]] = ..., secrets: _Optional[_Iterable[str]] = ..., origins: _Optional[_Iterable[_Union[Origin, _Mapping]]] = ...) -> None: ...

class Changes(_message.Message):
    __slots__ = ("type_url", "set", "removed")
    TYPE_URL_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    type_url: str
    set: _containers.RepeatedCompositeFieldContainer[Resource]
    removed: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, type_url: _Optional[str] = ..., set: _Optional[_Iterable[_Union[Resource, _Mapping]]] = ..., removed: _Optional[_Iterable[str]] = ...) -> None: ...

class LeftOut(_message.Message):
    __slots__ = ("type_url", "name", "reason", "message", "origins", "partial")
    TYPE_URL_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ORIGINS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    type_url: str
    name: str
    reason: str
    message: str
    origins: _containers.RepeatedCompositeFieldContainer[Origin]
    partial: bool
    def __init__(self, type_url: _Optional[str] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., origins: _Optional[_Iterable[_Union[Origin, _Mapping]]] = ..., partial: _Optional[bool] = ...) -> None: ...

class AllLeftOut(_message.Message):
    __slots__ = ("left_out",)
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    left_out: _containers.RepeatedCompositeFieldContainer[LeftOut]
    def __init__(self, left_out: _Optional[_Iterable[_Union[LeftOut, _Mapping]]] = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ("to", "seq", "by", "reason", "since")
    TO_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    to: str
    seq: int
    by: str
    reason: str
    since: float
    def __init__(self, to: _Optional[str] = ..., seq: _Optional[int] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ..., since: _Optional[float] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("group", "seq", "version", "created", "source", "change", "changes", "left_out", "hold", "more")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    group: str
    seq: int
    version: str
    created: float
    source: str
    change: str
    changes: _containers.RepeatedCompositeFieldContainer[Changes]
    left_out: AllLeftOut
    hold: Hold
    more: bool
    def __init__(self, group: _Optional[str] = ..., seq: _Optional[int] = ..., version: _Optional[str] = ..., created: _Optional[float] = ..., source: _Optional[str] = ..., change: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[Changes, _Mapping]]] = ..., left_out: _Optional[_Union[AllLeftOut, _Mapping]] = ..., hold: _Optional[_Union[Hold, _Mapping]] = ..., more: _Optional[bool] = ...) -> None: ...

class Pushed(_message.Message):
    __slots__ = ("owner", "group", "version", "lease", "changes", "gone", "more")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    owner: str
    group: str
    version: str
    lease: float
    changes: _containers.RepeatedCompositeFieldContainer[Changes]
    gone: bool
    more: bool
    def __init__(self, owner: _Optional[str] = ..., group: _Optional[str] = ..., version: _Optional[str] = ..., lease: _Optional[float] = ..., changes: _Optional[_Iterable[_Union[Changes, _Mapping]]] = ..., gone: _Optional[bool] = ..., more: _Optional[bool] = ...) -> None: ...
