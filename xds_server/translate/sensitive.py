"""What counts as a secret: fields that Envoy marks, fields that we know of, names and texts that look like one."""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import Any as Anything

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from xds_server.translate.protos import pool

_GOOGLE_GRPC = "envoy.config.core.v3.GrpcService.GoogleGrpc.CallCredentials."
_CALL_CREDENTIALS = "envoy.extensions.grpc_service.call_credentials."
_LAMBDA = "envoy.extensions.filters.http.aws_lambda.v3.Credentials."
_ALSO_SENSITIVE = frozenset(
    {
        f"{_GOOGLE_GRPC}access_token",
        f"{_GOOGLE_GRPC}google_refresh_token",
        f"{_GOOGLE_GRPC}GoogleIAMCredentials.authorization_token",
        f"{_GOOGLE_GRPC}ServiceAccountJWTAccessCredentials.json_key",
        f"{_CALL_CREDENTIALS}access_token.v3.AccessTokenCredentials.token",
        f"{_CALL_CREDENTIALS}google_iam.v3.GoogleIamCredentials.authorization_token",
        f"{_CALL_CREDENTIALS}google_refresh_token.v3.GoogleRefreshTokenCredentials.token",
        f"{_CALL_CREDENTIALS}service_account_jwt_access.v3.ServiceAccountJwtAccessCredentials.json_key",
        f"{_LAMBDA}secret_access_key",
        f"{_LAMBDA}session_token",
        "envoy.config.trace.v3.LightstepConfig.access_token",
        # A JWKS may hold symmetric keys.
        "envoy.extensions.filters.http.jwt_authn.v3.JwtProvider.local_jwks",
    }
)
"""Fields that hold secrets and that Envoy has not marked with `udpa.annotations.sensitive`."""

_TLS = "envoy.extensions.transport_sockets.tls.v3."
_HOLDERS = frozenset({f"{_TLS}Secret", "envoy.config.core.v3.DataSource"})
"""Messages in which a secret may stand in the wrong place, though they have no sensitive field of their own."""

_PAIRS = {
    "envoy.config.core.v3.HeaderValue": ("key", frozenset({"value", "raw_value"})),
    "envoy.config.core.v3.KeyValue": ("key", frozenset({"value"})),
    "envoy.config.core.v3.KeyValuePair": ("key", frozenset({"value"})),
    "envoy.config.core.v3.QueryParameter": ("key", frozenset({"value"})),
    "envoy.config.route.v3.HeaderMatcher": (
        "name",
        frozenset(
            {"exact_match", "safe_regex_match", "prefix_match", "suffix_match", "contains_match", "string_match"}
        ),
    ),
    "envoy.config.route.v3.QueryParameterMatcher": ("name", frozenset({"string_match"})),
}
"""Messages that pair a name with a value: where the name stands, and where the value."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_NAME = re.compile(
    r"secret|token|passw|passphrase|pwd|credential|private|authorization|cookie|bearer|jwks?\b|hmac"
    r"|inline_?(?:string|bytes)|(?:\b|_|api|access|signing|encryption|session|ticket)keys?(?:\b|_)"
    r"|(?:\b|_)(?:auth|pem|pkcs12|p12|pfx)(?:\b|_)"
)
_SECRET_TEXT = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"  # PEM
    r"|^\s*(?:Basic|Bearer)\s+\S{6}"  # an Authorization header
    r"|://[^/\s:@]*:[^/\s@]+@",  # a password in a URL
    re.IGNORECASE,
)
_JWK_SECRET = re.compile(r'"(?:k|d|p|q|dp|dq|qi)"\s*:\s*"')
_PEM_IN_BASE64 = "LS0tLS1CRUdJTi"


@cache
def is_sensitive(field: FieldDescriptor) -> bool:
    """Whether a field holds secrets: Envoy's mark (`udpa.annotations.sensitive`) or our own list."""
    if field.full_name in _ALSO_SENSITIVE:
        return True
    mark: Anything = pool().FindExtensionByName("udpa.annotations.sensitive")
    return bool(field.GetOptions().Extensions[mark])


@cache
def may_hold_secrets(descriptor: Descriptor) -> bool:
    """Whether secrets stand right in a message, so that what is wrong there may be one in the wrong place."""
    return descriptor.full_name in _HOLDERS or any(is_sensitive(field) for field in descriptor.fields)


def pair_of(descriptor: Descriptor) -> tuple[str, frozenset[str]] | None:
    """For a message that pairs a name with a value, such as a header: the fields of both. None for others."""
    return _PAIRS.get(descriptor.full_name)


def is_secret_name(name: str) -> bool:
    """Whether a name, be it of a header or of a key in free JSON, looks like one of a secret."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name).lower()) is not None


def is_secret_text(text: str) -> bool:
    """Whether a text looks like a secret, wherever it stands: a PEM or JSON Web key, a credential of HTTP."""
    if _SECRET_TEXT.search(text) or ('"kty"' in text and _JWK_SECRET.search(text)):
        return True
    return _PEM_IN_BASE64 in text and _SECRET_TEXT.search(_decoded(text)) is not None


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text + "==", validate=False).decode(errors="replace")
    except ValueError:  # no base64, or not even ASCII
        return ""
