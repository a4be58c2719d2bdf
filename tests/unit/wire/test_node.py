"""What is kept of a Node: id, cluster, group and build; ids that nobody could read are refused."""

from __future__ import annotations

import pytest
from envoy.config.core.v3 import base_pb2

from xds_server.wire.grouping import Grouping
from xds_server.wire.node import NodeInfo, node_id, parse_node
from xds_server.wire.request import RequestError


def node(**fields: str) -> base_pb2.Node:
    """A Node of Envoy 1.40.2."""
    made = base_pb2.Node(**fields, user_agent_name="envoy")
    made.user_agent_build_version.version.major_number = 1
    made.user_agent_build_version.version.minor_number = 40
    made.user_agent_build_version.version.patch = 2
    return made


def test_the_group_is_the_metadata_s_else_the_cluster_s_else_default() -> None:
    assert parse_node(node(id="n").SerializeToString(), Grouping()) == NodeInfo(
        "n", "", "default", "1.40.2", is_envoy=True
    )
    edge = node(id="n", cluster="edge")
    assert parse_node(edge.SerializeToString(), Grouping()).group == "edge"
    edge.metadata["tidegate.dev/group"] = "blue"
    assert parse_node(edge.SerializeToString(), Grouping()).group == "blue"


def test_a_client_without_build_version_is_known_by_its_user_agent() -> None:
    grpc = base_pb2.Node(id="n", user_agent_name="gRPC C-core", user_agent_version="C-core 1.85")
    assert parse_node(grpc.SerializeToString(), Grouping()).build == "C-core 1.85"
    assert not parse_node(grpc.SerializeToString(), Grouping()).is_envoy


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 1025, "\x1b[31m"])
def test_ids_that_nobody_could_read(name: str) -> None:
    with pytest.raises(RequestError, match=r"node\.id"):
        parse_node(node(id=name).SerializeToString(), Grouping())


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "\u2028"])
def test_groups_that_nobody_could_read(name: str) -> None:
    by_metadata = node(id="n", cluster="fine")
    by_metadata.metadata["tidegate.dev/group"] = name
    for each in (by_metadata, node(id="n", cluster=name)):
        with pytest.raises(RequestError, match="group must be printable"):
            parse_node(each.SerializeToString(), Grouping())


def test_a_long_cluster_is_a_group() -> None:
    assert parse_node(node(id="n", cluster="x" * 5000).SerializeToString(), Grouping()).group == "x" * 5000


def test_bytes_that_are_no_node() -> None:
    with pytest.raises(RequestError, match="not a Node"):
        parse_node(b"\xff\xff", Grouping())


def test_the_id_alone() -> None:
    assert node_id(node(id="n").SerializeToString()) == "n"
    assert node_id(b"") == ""
