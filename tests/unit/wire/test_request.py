"""Requests: the same as protobuf reads, node cut away, equal bytes parsed once, garbage refused."""

from __future__ import annotations

import tracemalloc

import pytest
from envoy.service.discovery.v3 import discovery_pb2
from hypothesis import given, strategies as st

from xds_server.wire.decode import cut_field
from xds_server.wire.encode import field, text, varint
from xds_server.wire.request import DeltaRequest, ErrorDetail, RequestError, RequestParser, SotwRequest
from xds_server.wire.types import CLUSTER

NAMES = st.lists(st.text(max_size=5), max_size=4)


@given(st.text(max_size=5), NAMES, st.text(max_size=5), st.none() | st.text(max_size=9), st.binary(max_size=200))
def test_sotw_requests(version: str, names: list[str], nonce: str, error: str | None, padding: bytes) -> None:
    message = discovery_pb2.DiscoveryRequest(
        version_info=version, resource_names=names, type_url=CLUSTER, response_nonce=nonce
    )
    message.node.id = "n" + padding.hex()
    if error is not None:
        message.error_detail.code, message.error_detail.message = 3, error
    request, node = RequestParser().sotw(message.SerializeToString())
    detail = None if error is None else ErrorDetail(3, error)
    assert request == SotwRequest(CLUSTER, version, frozenset(names), nonce, detail)
    assert node == message.node.SerializeToString()


@given(NAMES, NAMES, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3), st.text(max_size=5))
def test_delta_requests(subscribe: list[str], unsubscribe: list[str], held: dict[str, str], nonce: str) -> None:
    message = discovery_pb2.DeltaDiscoveryRequest(
        type_url=CLUSTER,
        resource_names_subscribe=subscribe,
        resource_names_unsubscribe=unsubscribe,
        initial_resource_versions=held,
        response_nonce=nonce,
    )
    message.node.id = "n"
    request, node = RequestParser().delta(message.SerializeToString())
    assert request == DeltaRequest(CLUSTER, frozenset(subscribe), frozenset(unsubscribe), held, nonce)
    assert node == message.node.SerializeToString()


def test_a_node_out_of_field_order_is_found() -> None:
    message = discovery_pb2.DiscoveryRequest(type_url=CLUSTER)
    message.node.id = "late"
    raw = text(4, CLUSTER) + field(2, message.node.SerializeToString())
    request, node = RequestParser().sotw(raw)
    assert request.type_url == CLUSTER
    assert node == message.node.SerializeToString()


def test_the_acks_of_a_fleet_are_parsed_once() -> None:
    parser = RequestParser()
    ack = text(1, "v") + text(3, "a") + text(4, CLUSTER) + text(5, "nonce")
    nodes = [field(2, text(1, f"node-{number}") + bytes(field(12, b"x" * 60_000))) for number in range(5)]
    version, rest = ack[:3], ack[3:]
    requests = [parser.sotw(version + node + rest)[0] for node in nodes]
    assert all(request is requests[0] for request in requests)
    assert parser.sotw(ack)[0] is requests[0]


@given(st.binary(max_size=300), st.integers(1, 20))
def test_cutting_never_fails_and_loses_nothing(raw: bytes, number: int) -> None:
    payload, rest = cut_field(raw, number)
    if payload is None:
        assert rest == raw
    else:
        assert len(rest) < len(raw)
        assert payload in raw


@pytest.mark.parametrize("raw", [b"\xff", b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x0f", b"\x12\x05ab"])
def test_garbage_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError):
        RequestParser().sotw(raw)
    with pytest.raises(RequestError):
        RequestParser().delta(raw)


@given(st.integers(0, 2**63))
def test_varints(value: int) -> None:
    message = discovery_pb2.DiscoveryResponse.FromString(field(1, b"v"))
    assert message.version_info == "v"
    encoded = varint(value)
    decoded = sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(encoded))
    assert decoded == value
    assert all(byte & 0x80 for byte in encoded[:-1])
    assert not encoded[-1] & 0x80


def test_requests_that_differ_in_the_middle_only_are_told_apart() -> None:
    parser = RequestParser()
    names = [[f"name-{number:03}" for number in range(100)] for _ in range(2)]
    names[1][50] = "other-50"
    raw = [text(1, "v") + b"".join(text(3, name) for name in each) + text(4, CLUSTER) for each in names]
    for each, expected in zip([*raw, *raw], [*names, *names], strict=True):
        assert parser.sotw(each)[0].names == frozenset(expected)


def test_what_is_remembered_of_requests_has_a_bound() -> None:
    parser = RequestParser()
    tracemalloc.start()
    try:
        for number in range(6000):
            parser.delta(text(2, CLUSTER) + text(6, f"nonce-{number}"))
            parser.sotw(text(1, f"{number}") + text(3, "a" * 500) + text(4, CLUSTER))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 8 * 1024 * 1024


@pytest.mark.parametrize("variant", ["sotw", "delta"])
def test_acks_that_never_come_again_take_no_more_than_5_mib(variant: str) -> None:
    """Twenty thousand rounds of a fleet, with as long a nonce and version as ours."""
    parser = RequestParser()
    url = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
    tracemalloc.start()
    try:
        for number in range(20_000):
            nonce = f"{number:032}"
            if variant == "sotw":
                ack = discovery_pb2.DiscoveryRequest(
                    type_url=url, version_info=nonce, resource_names=["a"], response_nonce=nonce
                )
                parser.sotw(ack.SerializeToString())
            else:
                delta_ack = discovery_pb2.DeltaDiscoveryRequest(type_url=url, response_nonce=nonce)
                parser.delta(delta_ack.SerializeToString())
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 5 * 1024 * 1024
