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
        self._is_strict = self._kind.__struct_config__.forbid_unknown_fields
        self._identity = (api_version, kind)
        self._decode = msgspec.json.Decoder(self._kind).decode

    def __call__(self, raw: bytes) -> Declared:
        """Decode one object.

        Raises:
            msgspec.DecodeError: This is not JSON of an object.
        """
        try:
            value = self._decode(_without_status(raw) if self._is_strict else raw)
        except msgspec.ValidationError:
            # It may be no more than a null where a field may be absent.
            return decode_manifest(msgspec.json.decode(raw), Origin(self._source), GROUP)
        meta, (api_version, kind) = value.metadata, self._identity
        origin = Origin(self._source, "", 0, 0, api_version, kind, meta.namespace, meta.name, meta.generation)
        return Object(ObjectKey(self._api_group, kind, meta.namespace, meta.name), value.hub(), origin, GROUP)


def _without_status(raw: bytes) -> bytes:
    parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return raw if parts.pop("status", None) is None else msgspec.json.encode(parts)
