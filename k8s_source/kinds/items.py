"""From an object's JSON bytes, as an API server has it, to the typed object, or to all that is wrong with it. Pure."""

from __future__ import annotations

import msgspec

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.registry import KINDS
from xds_server.ir.objects import Object, ObjectKey
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem

Declared = Object | tuple[Problem, ...]
"""An object, or what is wrong with it; of each problem the origin tells the object."""

GROUP = "default"
"""The group of objects that name none: in a cluster there is no folder that could."""

_Parts = dict[str, msgspec.Raw]


class ItemDecoder:
    """Decodes objects of one kind. What an API server adds is not looked into: `status`, most of `metadata`."""

    def __init__(self, source: str, api_version: str, kind: str) -> None:
        """Begin with the name of the source, and with a kind of the registry.

        Raises:
            KeyError: Tidegate does not know this kind.
        """
        self._source = source
        self._kind = KINDS[api_version, kind]
        self._api_group = api_version.rpartition("/")[0]
        self._identity = {"apiVersion": api_version, "kind": kind}
        self._parts: _Parts = {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in self._identity.items()}
        self._decode = msgspec.json.Decoder(self._kind).decode

    def __call__(self, raw: bytes) -> Declared:
        """Decode one object; it may lack `apiVersion` and `kind`, as items of lists do.

        Raises:
            msgspec.DecodeError: This is not JSON of an object.
        """
        parts = msgspec.json.decode(raw, type=_Parts) | self._parts
        parts.pop("status", None)
        try:
            value = self._decode(msgspec.json.encode(parts))
        except msgspec.ValidationError:
            # It may be no more than a null where a field may be absent.
            return decode_manifest(msgspec.json.decode(raw) | self._identity, Origin(self._source), GROUP)
        meta, identity = value.metadata, self._identity
        origin = Origin(
            self._source,
            api_version=identity["apiVersion"],
            kind=identity["kind"],
            namespace=meta.namespace,
            name=meta.name,
            generation=meta.generation,
        )
        key = ObjectKey(self._api_group, origin.kind, origin.namespace, origin.name)
        return Object(key, value.hub(), origin, GROUP)
