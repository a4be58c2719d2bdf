"""The finalizer of DynamicGateways: it keeps an object until Envoys have let go of what it made. Pure: patches only."""

from __future__ import annotations

import msgspec

from k8s_source.informer.item import ItemMeta

FINALIZER = "gateway.tidegate.dev/deprogram"
"""The entry of `metadata.finalizers` that is ours; those of others are theirs."""

_LIST = "/metadata/finalizers"


def is_held(meta: ItemMeta) -> bool:
    """Whether our finalizer is on the object."""
    return FINALIZER in meta.finalizers


def added(meta: ItemMeta) -> bytes:
    """The JSON patch that adds it, if the object is still the one that was read."""
    is_there = _test("/metadata/uid", meta.uid), _test("/metadata/resourceVersion", meta.resource_version)
    if meta.finalizers:
        return _patch(*is_there, {"op": "add", "path": f"{_LIST}/-", "value": FINALIZER})
    return _patch(*is_there, {"op": "add", "path": _LIST, "value": [FINALIZER]})


def removed(meta: ItemMeta) -> bytes:
    """The JSON patch that removes it, if it still stands where it was; what else changed meanwhile does not matter."""
    place = f"{_LIST}/{meta.finalizers.index(FINALIZER)}"
    return _patch(_test("/metadata/uid", meta.uid), _test(place, FINALIZER), {"op": "remove", "path": place})


def _test(path: str, value: str) -> dict[str, object]:
    return {"op": "test", "path": path, "value": value}


def _patch(*operations: dict[str, object]) -> bytes:
    return msgspec.json.encode(operations)
