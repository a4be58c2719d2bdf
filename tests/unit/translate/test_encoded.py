"""Resources as bytes: read as strictly as JSON, at any depth, and to the same resources."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import address_pb2
from envoy.config.listener.v3 import listener_pb2
from google.protobuf import any_pb2

from tests.unit.translate.documents import ORIGIN
from xds_server.ir.declared import EncodedDocument
from xds_server.ir.problem import ProblemError
from xds_server.translate.native import decode
from xds_server.wire.types import CLUSTER, LISTENER

FOREIGN = b"\xfa\x7f\x01z"
"""A field with a number that no message here has."""


def fault(type_url: str, body: bytes) -> tuple[str, str, str]:
    with pytest.raises(ProblemError) as error:
        decode(EncodedDocument("g", type_url, "a", body, ORIGIN, "resources[0]"))
    problem = error.value.problem
    return problem.reason, problem.field, problem.message


def listener(config: Any) -> bytes:
    made: Any = listener_pb2.Listener(name="l")
    filter_ = made.filter_chains.add().filters.add(name="f")
    filter_.typed_config.CopyFrom(config)
    return bytes(made.SerializeToString())


def test_bytes_give_the_resource() -> None:
    made = cluster_pb2.Cluster(name="a", alt_stat_name="b")
    resource = decode(EncodedDocument("g", CLUSTER, "a", made.SerializeToString(), ORIGIN))
    assert (resource.name, resource.type_url, resource.body) == ("a", CLUSTER, made.SerializeToString())
    assert resource.origins == (ORIGIN,)


def test_what_is_not_known_is_refused_at_any_depth() -> None:
    cluster = cluster_pb2.Cluster(name="a")
    assert fault(CLUSTER, cluster.SerializeToString() + FOREIGN)[:2] == ("UnknownField", "resources[0]")
    cluster.load_assignment.MergeFromString(FOREIGN)
    assert fault(CLUSTER, cluster.SerializeToString())[:2] == ("UnknownField", "resources[0]")
    at = "resources[0].filter_chains[0].filters[0].typed_config"
    foreign = any_pb2.Any(type_url="type.googleapis.com/no.Such", value=b"")
    assert fault(LISTENER, listener(foreign))[:2] == ("UnknownType", f"{at}.@type")
    address = any_pb2.Any()
    address.Pack(address_pb2.Address())
    address.value = FOREIGN
    assert fault(LISTENER, listener(address))[:2] == ("UnknownField", at)
    address.value = b"\xff"
    assert fault(LISTENER, listener(address))[:2] == ("InvalidValue", at)
    inner = any_pb2.Any()
    inner.Pack(foreign)
    assert fault(LISTENER, listener(inner))[0] == "UnknownType"


def test_what_is_no_resource() -> None:
    assert fault(CLUSTER, b"")[:2] == ("MissingName", "resources[0].name")
    assert fault(CLUSTER, b"\xff")[:2] == ("InvalidValue", "resources[0]")
    assert fault("type.googleapis.com/envoy.config.core.v3.Address", b"")[0] == "NotAResource"
    assert fault("", b"")[0] == "UnknownType"
