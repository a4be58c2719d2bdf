"""What lists and watches send."""

from __future__ import annotations

import msgspec
import pytest

from k8s_source.client.errors import ApiError
from k8s_source.client.resource import ENDPOINT_SLICES
from k8s_source.informer.item import ItemKey
from k8s_source.informer.wire import BROKEN, bookmark_of, event_of, object_of, page_of


def test_an_item_of_a_list_is_whole() -> None:
    page = page_of(
        b'{"metadata":{"resourceVersion":"5","continue":"x"},"items":[{"metadata":{"name":"a","namespace":"b"},"ports":[]}]}'
    )
    assert (page.metadata.resource_version, page.metadata.onward) == ("5", "x")
    found = object_of((page.items or [])[0], ENDPOINT_SLICES)
    assert found.key == ItemKey("b", "a")
    assert msgspec.json.decode(found.body) == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a", "namespace": "b"},
        "ports": [],
    }


def test_what_is_kept_of_metadata() -> None:
    line = b"""{"type":"ADDED","object":{"kind":"DynamicGateway","metadata":{"name":"a","uid":"u","resourceVersion":"9",
    "generation":3,"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-02T00:00:00Z",
    "finalizers":["f"],"managedFields":[{"manager":"m"}]}}}"""
    event = event_of(line)
    found = object_of(event.object, ENDPOINT_SLICES)
    assert (event.type, found.key) == ("ADDED", ItemKey("", "a"))
    assert (found.meta.uid, found.meta.resource_version, found.meta.generation) == ("u", "9", 3)
    assert found.meta.deleted == "2026-01-02T00:00:00Z"
    assert found.meta.finalizers == ("f",)
    assert found.body == bytes(event.object)


def test_the_bookmark_that_ends_a_list() -> None:
    plain = msgspec.Raw(b'{"kind":"Service","metadata":{"resourceVersion":"12","creationTimestamp":null}}')
    assert bookmark_of(plain) == ("12", False)
    last = msgspec.Raw(b'{"metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}')
    assert bookmark_of(last) == ("12", True)


def test_an_error_event_is_an_error() -> None:
    with pytest.raises(ApiError) as found:
        event_of(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}')
    assert found.value.is_gone


@pytest.mark.parametrize(
    "line", [b'{"type":"ADDED","object":{"metada', b"null", b"\xff", b'{"type":"ERROR","object":[]}']
)
def test_a_line_that_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(ApiError) as found:
        event_of(line)
    assert found.value.reason == BROKEN


def test_an_object_without_metadata_is_an_error() -> None:
    with pytest.raises(ApiError) as found:
        object_of(msgspec.Raw(b"{}"), ENDPOINT_SLICES)
    assert found.value.reason == BROKEN


def test_a_page_that_is_none_is_an_error() -> None:
    with pytest.raises(ApiError):
        page_of(b"<html>")
    assert page_of(b'{"metadata":{"resourceVersion":"1"},"items":null}').items is None
