"""No secret is shown, in whatever form it is declared: marked fields, typed and free JSON, headers, texts."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import given, strategies as st

from tests.unit.translate.documents import CLUSTER, ROUTE, any_of, made
from xds_server.translate import protos
from xds_server.translate.render import to_json
from xds_server.translate.sensitive import is_sensitive

HIDDEN = "hidden-value"
TYPED_STRUCTS = ["xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"]
UPSTREAM_TLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
PEM = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n"
PUBLIC = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"

NO_SECRETS = {
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.requested_token_type",
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.subject_token_path",
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.subject_token_type",
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.token_exchange_service_uri",
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.actor_token_path",
    "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials.StsService.actor_token_type",
    "envoy.config.trace.v3.LightstepConfig.access_token_file",
    "envoy.extensions.filters.http.oauth2.v3.OAuth2Credentials.CookieNames.bearer_token",
    "envoy.extensions.filters.http.oauth2.v3.OAuth2Credentials.CookieNames.id_token",
    "envoy.extensions.filters.http.oauth2.v3.OAuth2Credentials.CookieNames.refresh_token",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.requested_token_type",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.subject_token_path",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.subject_token_type",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.token_exchange_service_uri",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.actor_token_path",
    "envoy.extensions.grpc_service.call_credentials.sts_service.v3.StsServiceCredentials.actor_token_type",
}
"""Fields whose names look like secrets and that only say where one is, or of which kind."""


def every_message() -> Iterator[Descriptor]:
    def below(descriptor: Descriptor) -> Iterator[Descriptor]:
        yield descriptor
        for each in descriptor.nested_types:
            yield from below(each)

    for name in protos.known_names():
        top = protos.descriptor_of(name)
        if top is not None and name.startswith("envoy."):
            yield from below(top)


def every_field() -> list[FieldDescriptor]:
    protos.pool()
    return [field for message in every_message() for field in message.fields]


def shown(value: object) -> Any:
    """How a message in an Any of a cluster is shown."""
    js = to_json(made(CLUSTER, name="x", typed_extension_protocol_options={"x": value}))
    assert "unreadable" not in js
    return js["typed_extension_protocol_options"]["x"]  # type: ignore[index]


def free(value: object) -> Any:
    """How free JSON is shown."""
    return shown(any_of("google.protobuf.Struct", value=value))["value"]


def test_no_field_of_envoy_that_looks_like_a_secret_is_forgotten() -> None:
    """Fails when a new version of the API brings one: mark it in `sensitive`, or list it here."""
    looks = re.compile(r"secret|token|passw|private_key|json_key")
    texts = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
    configured = (each for each in every_field() if not each.full_name.startswith("envoy.service."))
    found = {each.full_name for each in configured if each.type in texts and looks.search(each.name)}
    unmarked = {
        name for name in found if not is_sensitive(protos.pool().FindFieldByName(name)) and name not in NO_SECRETS
    }
    assert unmarked == set()


@pytest.mark.parametrize("wrapper", TYPED_STRUCTS)
def test_every_sensitive_field_is_hidden_in_a_typed_struct(wrapper: str) -> None:
    """In either spelling, whatever shape is given, also one that the message does not have."""
    fields = [each for each in every_field() if is_sensitive(each)]
    assert len(fields) > 30
    for field in fields:
        assert field.containing_type is not None
        url = f"type.googleapis.com/{field.containing_type.full_name}"
        for name in (field.name, field.json_name):
            for value in (HIDDEN, [HIDDEN], {"inline_string": HIDDEN}, {"inlineBytes": HIDDEN}, {"a": {"b": [HIDDEN]}}):
                js = shown(any_of(wrapper, type_url=url, value={name: value}))
                assert HIDDEN not in json.dumps(js), (field.full_name, name, value)
                assert js["type_url"] == url


@pytest.mark.parametrize("wrapper", TYPED_STRUCTS)
@pytest.mark.parametrize("type_url", ["", "type.googleapis.com/no.such.Type", f"type.googleapis.com/{UPSTREAM_TLS}"])
def test_keys_below_a_typed_struct(wrapper: str, type_url: str) -> None:
    certificates = [{"private_key": {"inline_string": HIDDEN}, "certificate_chain": {"filename": "/chain"}}]
    value = {"common_tls_context": {"tls_certificates": certificates, "alpn_protocols": ["h2"]}, "sni": "example.org"}
    found = shown(any_of(wrapper, type_url=type_url, value=value))["value"]
    assert HIDDEN not in json.dumps(found)
    assert found["sni"] == "example.org"
    assert found["common_tls_context"]["alpn_protocols"] == ["h2"]
    assert found["common_tls_context"]["tls_certificates"][0]["certificate_chain"] == {"filename": "/chain"}


def test_messages_inside_free_json_are_known_by_their_type() -> None:
    users = {"@type": "type.googleapis.com/envoy.extensions.filters.http.basic_auth.v3.BasicAuth", "users": HIDDEN}
    assert HIDDEN not in json.dumps(free({"typed_config": users}))
    inner = {"type_url": "x/envoy.extensions.filters.http.basic_auth.v3.BasicAuth", "value": {"users": HIDDEN}}
    nested = {"@type": "type.googleapis.com/xds.type.v3.TypedStruct", **inner}
    assert HIDDEN not in json.dumps(free({"a": [nested]}))


@pytest.mark.parametrize(
    "name",
    [
        *("key", "private_key", "privateKey", "tls.key", "api-key", "apiKey", "API_KEY", "x-api-key", "keys"),
        *("secret", "client_secret", "clientSecret", "token", "access_token", "idToken", "password", "db.password"),
        *("passwd", "passphrase", "credential", "credentials", "authorization", "proxy-authorization", "cookie"),
        *("bearer", "jwks", "hmac", "inline_string", "inlineBytes", "auth", "signing_key", "secretAccessKey"),
    ],
)
def test_free_json_below_a_name_of_a_secret(name: str) -> None:
    for value in (HIDDEN, [HIDDEN], {"a": {"b": HIDDEN}}):
        assert HIDDEN not in json.dumps(free({"x": [{name: value}]}))
    assert free({name: 123456}) == {name: "[redacted]"}
    assert free({name: True, "x": {name: None}}) == {name: True, "x": {name: None}}
    header = {"header": {"key": name, "value": HIDDEN}}
    route = {"match": {"prefix": "/"}, "direct_response": {"status": 200}, "request_headers_to_add": [header]}
    hosts = [{"name": "v", "domains": ["*"], "routes": [route]}]
    assert HIDDEN not in json.dumps(to_json(made(ROUTE, name="r", virtual_hosts=hosts)))
    assert HIDDEN not in json.dumps(free({"name": name, "value": HIDDEN}))


@pytest.mark.parametrize(
    "name", ["stage", "monkey", "keyboard", "author", "authority", "version", "content-type", "pwn"]
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert free({name: "shown"}) == {name: "shown"}
    assert free({"name": name, "value": "shown"})["value"] == "shown"


def test_headers_by_name() -> None:
    value = {"key": "Authorization", "value": f"Basic {HIDDEN}"}
    matcher = {"name": "x-api-key", "string_match": {"exact": HIDDEN}}
    query = {"name": "api_key", "string_match": {"exact": HIDDEN}}
    raw = {"key": "cookie", "raw_value": base64.b64encode(HIDDEN.encode()).decode()}
    route = {
        "match": {"prefix": "/", "headers": [matcher], "query_parameters": [query]},
        "direct_response": {"status": 200},
        "request_headers_to_add": [{"header": value}, {"header": raw}, {"header": {"key": "x-stage", "value": "a"}}],
    }
    js: Any = to_json(made(ROUTE, name="r", virtual_hosts=[{"name": "v", "domains": ["*"], "routes": [route]}]))
    assert HIDDEN not in json.dumps(js)
    found = js["virtual_hosts"][0]["routes"][0]["request_headers_to_add"]
    assert found[0]["header"] == {"key": "Authorization", "value": "[redacted]"}
    assert found[1]["header"] == {"key": "cookie", "raw_value": "[redacted]"}
    assert found[2]["header"] == {"key": "x-stage", "value": "a"}


def test_inline_key_sets_of_jwt_providers() -> None:
    keys = json.dumps({"keys": [{"kty": "oct", "k": HIDDEN}]})
    jwt = "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"
    providers: dict[str, object] = {
        "a": {"local_jwks": {"inline_string": keys}},
        "b": {"local_jwks": {"inline_bytes": base64.b64encode(keys.encode()).decode()}},
        "c": {"local_jwks": {"filename": "/jwks"}},
    }
    found = shown(any_of(jwt, providers=providers))["providers"]
    assert [next(iter(each["local_jwks"].values())) for each in found.values()] == ["[redacted]", "[redacted]", "/jwks"]


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        f"{PUBLIC}{PEM}",
        f"Bearer {HIDDEN}",
        f"basic {HIDDEN}",
        f"https://user:{HIDDEN}@example.org/",
        json.dumps({"kty": "oct", "k": HIDDEN}),
    ],
)
def test_texts_that_look_like_secrets_are_hidden_anywhere(text: str) -> None:
    assert free({"x": text}) == {"x": "[redacted]"}
    assert to_json(made(CLUSTER, name="x", alt_stat_name=text))["alt_stat_name"] == "[redacted]"
    lua = "envoy.extensions.filters.http.lua.v3.Lua"
    assert shown(any_of(lua, default_source_code={"inline_string": text}))["default_source_code"] == {
        "inline_string": "[redacted]"
    }


@pytest.mark.parametrize(("text", "is_shown"), [(PUBLIC, True), (PEM, False), (PUBLIC + PEM, False)])
def test_pem_in_base64(text: str, is_shown: bool) -> None:  # noqa: FBT001
    encoded = base64.b64encode(text.encode()).decode()
    found = shown(
        any_of(UPSTREAM_TLS, common_tls_context={"validation_context": {"trusted_ca": {"inline_bytes": encoded}}})
    )
    ca = found["common_tls_context"]["validation_context"]["trusted_ca"]
    assert ca == {"inline_bytes": encoded if is_shown else "[redacted]"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("akey@", max_size=4), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["common_tls_context", "commonTlsContext", "@type", "sni"]), JSON, max_size=3))
def test_a_typed_struct_of_any_shape_is_shown(value: dict[str, object]) -> None:
    url = f"type.googleapis.com/{UPSTREAM_TLS}"
    assert shown(any_of("xds.type.v3.TypedStruct", type_url=url, value=value))["type_url"] == url
