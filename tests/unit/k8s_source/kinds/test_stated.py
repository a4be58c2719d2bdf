"""Objects with their status: both are kept, and the one has no part in the other."""

from __future__ import annotations

import msgspec
import pytest

from k8s_source.kinds.items import ItemDecoder
from k8s_source.kinds.stated import StatedDecoder
from xds_server.ir.objects import Object

DECODE = StatedDecoder(ItemDecoder("kubernetes", "gateway.tidegate.dev/v1alpha1", "DynamicGateway"))
GATEWAY: dict[str, object] = {
    "apiVersion": "gateway.tidegate.dev/v1alpha1",
    "kind": "DynamicGateway",
    "metadata": {"name": "edge", "namespace": "shop", "generation": 3},
    "spec": {"routes": [{"name": "a", "path": "/", "backendService": "a"}]},
}


def raw(**more: object) -> bytes:
    return msgspec.json.encode(GATEWAY | more)


def test_the_status_is_kept_as_it_is() -> None:
    found = DECODE(raw(status={"phase": "Ready", "odd": [1]}))
    assert msgspec.json.decode(found.status) == {"phase": "Ready", "odd": [1]}
    assert isinstance(found.declared, Object)
    assert found.declared == DECODE(raw()).declared, "the status has no part in what is declared"


@pytest.mark.parametrize("spec", [{}, {"routes": "none"}])
def test_an_object_that_cannot_be_read_has_its_status_too(spec: object) -> None:
    found = DECODE(raw(spec=spec, status={"phase": "Failed"}))
    assert found.status == b'{"phase":"Failed"}'


def test_an_object_without_status_has_none() -> None:
    assert DECODE(raw()).status == b""
