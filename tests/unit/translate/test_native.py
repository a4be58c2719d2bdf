"""Decoding native documents: what comes out, and what an error says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.translate.documents import (
    CLUSTER,
    ENDPOINT,
    ORIGIN,
    SECRET,
    UPSTREAM_TLS,
    any_of,
    document,
    made,
    refused,
)
from xds_server.ir.declared import NativeDocument
from xds_server.ir.problem import ProblemError
from xds_server.translate.native import decode
from xds_server.wire import types


def endpoint(**socket: object) -> list[object]:
    return [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": socket}}}]}]


@pytest.mark.parametrize(
    ("type_url", "fields"),
    [
        (types.CLUSTER, {"name": "x", "connect_timeout": "1.5s", "per_connection_buffer_limit_bytes": 10}),
        (types.ENDPOINT, {"cluster_name": "x"}),
        (types.LISTENER, {"name": "x"}),
        (types.ROUTE, {"name": "x"}),
        (types.SECRET, {"name": "x", "generic_secret": {"secret": {"inline_bytes": "aGk="}}}),
        (types.RUNTIME, {"name": "x", "layer": {"a": {"b": [1, None, "c"]}}}),
        (types.SCOPED_ROUTE, {"name": "x", "route_configuration_name": "r", "key": {"fragments": []}}),
        (types.EXTENSION, {"name": "x", "typed_config": any_of("google.protobuf.StringValue", value="v")}),
        (types.VIRTUAL_HOST, {"name": "x", "domains": ["*"]}),
    ],
)
def test_every_kind_of_resource(type_url: str, fields: dict[str, object]) -> None:
    resource = decode(NativeDocument("default", {"@type": type_url, **fields}, ORIGIN))
    assert (resource.name, resource.type_url, resource.origins) == ("x", type_url, (ORIGIN,))
    assert resource.body


def test_both_spellings_and_both_forms_of_numbers_mean_the_same() -> None:
    snake = made(ENDPOINT, cluster_name="x", endpoints=[{"load_balancing_weight": 7, "priority": "1"}])
    camel = made(ENDPOINT, clusterName="x", endpoints=[{"loadBalancingWeight": "7", "priority": 1}])
    assert snake.version == camel.version


def test_the_prefix_of_a_type_does_not_matter() -> None:
    assert decode(NativeDocument("d", {"@type": CLUSTER, "name": "x"}, ORIGIN)).type_url == types.CLUSTER


def test_the_body_is_left_alone() -> None:
    source = document(CLUSTER, name="x")
    before = dict(source.body)
    decode(source)
    assert source.body == before


@pytest.mark.parametrize(
    ("fields", "reason", "field", "words"),
    [
        (
            {"load_assignment": {"endpoints": endpoint(address="a", port_value="eighty")}},
            "InvalidValue",
            "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value",
            "expected a whole number from 0 to 4294967295, found a string",
        ),
        (
            {"loadAssignment": {"endpoints": endpoint(addr="a")}},
            "UnknownField",
            "loadAssignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.addr",
            "envoy.config.core.v3.SocketAddress has no field 'addr'; did you mean 'address'?",
        ),
        ({"conectTimeout": "1s"}, "UnknownField", "conectTimeout", "did you mean 'connectTimeout'?"),
        ({"zzz": 1}, "UnknownField", "zzz", "has no field 'zzz'"),
        ({"type": "STRICTDNS"}, "InvalidValue", "type", "did you mean 'STRICT_DNS'?"),
        ({"type": "eds"}, "InvalidValue", "type", "expected one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS"),
        ({"type": []}, "InvalidValue", "type", "found a list"),
        ({"connect_timeout": 5}, "InvalidValue", "connect_timeout", 'such as "1.5s", found 5 (a number)'),
        ({"connect_timeout": "5"}, "InvalidValue", "connect_timeout", 'found "5" (a string)'),
        ({"alt_stat_name": 1.0}, "InvalidValue", "alt_stat_name", "expected a string (numbers"),
        ({"respect_dns_ttl": "true"}, "InvalidValue", "respect_dns_ttl", "expected true or false without quotes"),
        ({"health_checks": {}}, "InvalidValue", "health_checks", "expected a list, found a mapping"),
        ({"health_checks": [None]}, "InvalidValue", "health_checks[0]", "found null"),
        ({"metadata": "x"}, "InvalidValue", "metadata", "expected a mapping (envoy.config.core.v3.Metadata)"),
        ({"metadata": {"filter_metadata": {"a.b": 1}}}, "InvalidValue", 'metadata.filter_metadata["a.b"]', "a mapping"),
        ({"per_connection_buffer_limit_bytes": -1}, "InvalidValue", "per_connection_buffer_limit_bytes", "found -1"),
        ({"type": "EDS", "cluster_type": {"name": "x"}}, "Conflict", "cluster_type", "exclude each other"),
        ({"typed_extension_protocol_options": []}, "InvalidValue", "typed_extension_protocol_options", "found a list"),
        (
            {"transport_socket": {"typed_config": {"name": "x"}}},
            "MissingType",
            "transport_socket.typed_config.@type",
            "expected the type",
        ),
        (
            {"transport_socket": {"typed_config": {"@type": 3}}},
            "MissingType",
            "transport_socket.typed_config.@type",
            "expected the type",
        ),
        (
            {"transport_socket": {"typed_config": any_of(UPSTREAM_TLS, snni="x")}},
            "UnknownField",
            "transport_socket.typed_config.snni",
            "did you mean 'sni'?",
        ),
        (
            {"transport_socket": {"typed_config": any_of(UPSTREAM_TLS + "s")}},
            "UnknownType",
            "transport_socket.typed_config.@type",
            f"did you mean '{UPSTREAM_TLS}'?",
        ),
        (
            {"typed_extension_protocol_options": {"a": any_of("google.protobuf.Duration", value=1)}},
            "InvalidValue",
            "typed_extension_protocol_options.a.value",
            "a duration",
        ),
        ({"<<": {}}, "UnknownField", '["<<"]', "merge keys"),
        ({"name": ""}, "MissingName", "name", "found none"),
    ],
)
def test_errors_name_field_found_and_expected(fields: dict[str, object], reason: str, field: str, words: str) -> None:
    problem = refused(CLUSTER, **{"name": "x", **fields})
    assert (problem.reason, problem.field) == (reason, field)
    assert words in problem.message
    assert problem.origin == ORIGIN


def test_merge_keys_are_told_where_the_type_would_have_come_from_one() -> None:
    with pytest.raises(ProblemError, match="merge keys"):
        decode(NativeDocument("d", {"<<": {"@type": CLUSTER}, "name": "x"}, ORIGIN))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"connect_timeout": "1s", "connectTimeout": "2s"}, "connectTimeout"),
        ({"connectTimeout": "2s", "connect_timeout": None}, "connect_timeout"),
        (
            {"load_assignment": {"endpoints": [{"lb_endpoints": [], "lbEndpoints": []}]}},
            "load_assignment.endpoints[0].lbEndpoints",
        ),
        (
            {"transport_socket": {"typed_config": any_of(UPSTREAM_TLS, common_tls_context={}, commonTlsContext={})}},
            "transport_socket.typed_config.commonTlsContext",
        ),
    ],
)
def test_a_field_in_both_spellings_is_refused(fields: dict[str, object], path: str) -> None:
    problem = refused(CLUSTER, name="x", **fields)
    assert (problem.reason, problem.field) == ("Conflict", path)
    assert "two spellings of one field" in problem.message


def test_keys_of_free_json_may_look_alike() -> None:
    assert made(CLUSTER, name="x", metadata={"filter_metadata": {"a": {"a_b": 1, "aB": 2}}}).body


@pytest.mark.parametrize("value", ["aGk=", "aGk", "a-_b", "a+/b", "", "aGk=\n", "aG\n  k="])
def test_base64_in_all_its_forms(value: str) -> None:
    assert made(SECRET, name="s", generic_secret={"secret": {"inline_bytes": value}}).body


@pytest.mark.parametrize("value", ["!!!notb64", "aGk€", "a", "aGk=aGk=", "aGk===", "not base64!"])
def test_what_is_no_base64_is_refused(value: str) -> None:
    problem = refused(SECRET, name="s", generic_secret={"secret": {"inline_bytes": value}})
    assert (problem.reason, problem.field) == ("InvalidValue", "generic_secret.secret.inline_bytes")
    assert problem.message == "expected base64 text, found a string"
    field = refused(SECRET, name="s", genericSecret={"secret": {"inlineBytes": value}}).field
    assert field == "genericSecret.secret.inlineBytes"
    wrapped = any_of("google.protobuf.BytesValue", value=value)
    assert refused(CLUSTER, name="s", typed_extension_protocol_options={"a": wrapped}).field.endswith("a.value")
    header = {"header": {"key": "a", "raw_value": value}}
    told = refused("envoy.config.route.v3.RouteConfiguration", name="r", request_headers_to_add=[header])
    assert told.field == "request_headers_to_add[0].header.raw_value"


def test_unknown_types_are_named() -> None:
    assert refused("envoy.api.v2.Cluster").message.startswith("envoy.api.v2.Cluster is of version 2")
    assert "did you mean 'envoy.config.cluster.v3.Cluster'" in refused("envoy.config.v3.Cluster").message
    assert refused("envoy.config.v3.Cluster").field == "@type"
    assert refused("").reason == "UnknownType"
    with pytest.raises(ProblemError, match="expected the type"):
        decode(NativeDocument("d", {"name": "x"}, ORIGIN))


def test_what_has_no_name_is_no_resource() -> None:
    assert refused("envoy.config.core.v3.SocketAddress").reason == "NotAResource"


def test_fields_of_listed_resources_tell_where_they_stand() -> None:
    assert refused(CLUSTER, "resources[3]", name="").field == "resources[3].name"
    assert refused(CLUSTER, "resources[3]", **{"<<": {}}).field == 'resources[3]["<<"]'


def test_secrets_are_never_quoted() -> None:
    key = {"tls_certificate": {"private_key": {"inline_string": 123456}, "certificate_chain": {"inline_string": 7}}}
    problem = refused(SECRET, name="s", **key)
    assert problem.field == "tls_certificate.private_key.inline_string"
    assert problem.message.endswith("found a number")
    twisted = {"tls_certificate": {"private_key": ["123456"]}}
    assert "123456" not in str(refused(SECRET, name="s", **twisted))


def test_half_a_surrogate_pair_can_be_quoted() -> None:
    problem = refused(CLUSTER, name="x", alt_stat_name="\ud800")
    assert problem.message.encode()


def test_deep_nesting_is_refused() -> None:
    value: object = {}
    for _ in range(2000):
        value = {"a": value}
    assert refused(CLUSTER, name="x", metadata={"filter_metadata": {"a": value}}).reason in {"TooDeep", "InvalidValue"}


def test_equal_content_has_equal_bytes_in_every_process() -> None:
    """Maps inside an Any too, whose order protobuf leaves open."""
    code = """
from tests.unit.translate.documents import *
hosts = [{"name": "v", "domains": ["*"], "typed_per_filter_config":
    {str(n): any_of("xds.type.v3.TypedStruct", value={str(m): m for m in range(20)}) for n in range(20)}}]
print(listener(any_of(HCM, stat_prefix="x", route_config={"name": "r", "virtual_hosts": hosts})).version)
"""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, check=True, text=True, cwd=root) for _ in range(4)]
    assert len({run.stdout for run in runs}) == 1


def test_a_cluster_of_five_megabytes() -> None:
    many = endpoint(address="10.0.0.1", port_value=80)[0]["lb_endpoints"] * 50_000  # type: ignore[index]
    resource = made(CLUSTER, name="x", load_assignment={"cluster_name": "x", "endpoints": [{"lb_endpoints": many}]})
    assert len(resource.body) > 1_000_000
    many = [*many, {"endpoint": {"addr": {}}}]
    problem = refused(CLUSTER, name="x", load_assignment={"cluster_name": "x", "endpoints": [{"lb_endpoints": many}]})
    assert problem.field == "load_assignment.endpoints[0].lb_endpoints[50000].endpoint.addr"
