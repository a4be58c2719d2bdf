"""The JSON form for people: no secret in it, and an answer for any resource."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from tests.unit.translate.documents import CLUSTER, DOWNSTREAM_TLS, HCM, LISTENER, SECRET, any_of, listener, made
from xds_server.translate.protos import class_of
from xds_server.translate.render import to_json
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX

HIDDEN = "hidden-value"
BASE64 = "aGlkZGVuLXZhbHVl"
SECRET_TEXT = {"inline_string": HIDDEN}


def shown(resource: Resource) -> Any:
    js = to_json(resource)
    text = json.dumps(js)
    assert HIDDEN not in text
    assert BASE64 not in text
    return js


def test_proto_field_names_and_type() -> None:
    js = shown(made(CLUSTER, name="x", connectTimeout="1s", metadata={"filter_metadata": {"a": {"b": 1}}}))
    assert js == {
        "@type": PREFIX + CLUSTER,
        "name": "x",
        "connect_timeout": "1s",
        "metadata": {"filter_metadata": {"a": {"b": 1.0}}},
    }


def test_secrets() -> None:
    certificate = {
        "certificate_chain": {"inline_string": "public"},
        "private_key": {"inline_bytes": BASE64},
        "password": {"environment_variable": "PASSWORD"},
    }
    assert shown(made(SECRET, name="s", tls_certificate=certificate))["tls_certificate"] == {
        "certificate_chain": {"inline_string": "public"},
        "private_key": {"inline_bytes": "[redacted]"},
        "password": {"environment_variable": "PASSWORD"},
    }
    shown(made(SECRET, name="s", generic_secret={"secret": SECRET_TEXT, "secrets": {"a": SECRET_TEXT}}))
    keys = shown(made(SECRET, name="s", session_ticket_keys={"keys": [SECRET_TEXT, {"filename": "/keys"}]}))
    assert keys["session_ticket_keys"] == {"keys": [{"inline_string": "[redacted]"}, {"filename": "/keys"}]}


def test_secrets_inside_any() -> None:
    provider = {"provider_name": "p", "typed_config": any_of("google.protobuf.StringValue", value=HIDDEN)}
    certificates = [{"private_key": SECRET_TEXT}, {"private_key_provider": provider}]
    tls = any_of(DOWNSTREAM_TLS, common_tls_context={"tls_certificates": certificates})
    chain = {"transport_socket": {"name": "tls", "typed_config": tls}}
    js = shown(made(LISTENER, name="l", filter_chains=[chain]))
    found = js["filter_chains"][0]["transport_socket"]["typed_config"]["common_tls_context"]["tls_certificates"]
    assert found[0] == {"private_key": {"inline_string": "[redacted]"}}
    assert found[1]["private_key_provider"]["provider_name"] == "p"


def test_secrets_below_lists_and_maps_inside_any() -> None:
    users = any_of("envoy.extensions.filters.http.basic_auth.v3.BasicAuth", users=SECRET_TEXT)
    per_route = {"x": any_of("envoy.extensions.filters.http.basic_auth.v3.BasicAuthPerRoute", users=SECRET_TEXT)}
    hosts = [{"name": "v", "domains": ["*"], "typed_per_filter_config": per_route}]
    filters = [{"name": "auth", "typed_config": users}]
    shown(listener(any_of(HCM, stat_prefix="x", http_filters=filters, route_config={"virtual_hosts": hosts})))


def test_credentials_that_envoy_has_not_marked() -> None:
    google = {"target_uri": "x", "stat_prefix": "x", "call_credentials": [{"access_token": HIDDEN}]}
    authz = any_of("envoy.extensions.filters.http.ext_authz.v3.ExtAuthz", grpc_service={"google_grpc": google})
    shown(listener(any_of(HCM, stat_prefix="x", http_filters=[{"name": "a", "typed_config": authz}])))


def test_what_can_not_be_shown_is_said_so() -> None:
    assert to_json(Resource("x", "a/b.C", b"123")) == {
        "@type": "a/b.C",
        "name": "x",
        "unreadable": "3 bytes that are not of a known type",
    }
    assert "unreadable" in to_json(Resource("x", PREFIX + CLUSTER, b"\xff"))
    message: Any = class_of(CLUSTER)
    cluster = message(name="x")
    cluster.typed_extension_protocol_options["a"].type_url = "a/b.C"
    cluster.typed_extension_protocol_options["a"].value = HIDDEN.encode()
    js = shown(Resource("x", PREFIX + CLUSTER, cluster.SerializeToString()))
    note = {"@type": "a/b.C", "unreadable": "12 bytes of a type that is not known"}
    assert js["typed_extension_protocol_options"] == {"a": note}
    cluster = message(name="x")
    cluster.connect_timeout.seconds = 10**15
    assert "unreadable" in to_json(Resource("x", PREFIX + CLUSTER, cluster.SerializeToString()))


@given(
    st.binary(max_size=60),
    st.sampled_from([CLUSTER, LISTENER, SECRET, "google.protobuf.Any", "google.protobuf.Struct", "no.Type"]),
)
def test_never_raises(body: bytes, type_name: str) -> None:
    assert to_json(Resource("x", PREFIX + type_name, body))["@type"] == PREFIX + type_name
