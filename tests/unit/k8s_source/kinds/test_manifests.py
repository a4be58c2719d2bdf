"""Objects as manifests again: they declare the same, and show no secret."""

from __future__ import annotations

import msgspec
import pytest

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.manifests import manifest_of
from tests.unit.k8s_source.manifests import (
    FILE,
    Body,
    decoded,
    endpoint_slice,
    gateway,
    pair,
    service,
    tls_secret,
    watching,
)


@pytest.mark.parametrize(
    "body",
    [service(), endpoint_slice("a-1", "a", "10.0.0.1"), gateway(watching(timeout="3s"))],
    ids=lambda b: b["kind"],
)
def test_a_manifest_declares_what_the_object_is(body: Body) -> None:
    found = decoded(body)
    assert decode_manifest(manifest_of(found), FILE, "default") == found


def test_a_secret_is_there_by_its_keys_only() -> None:
    chain, key = pair()
    manifest = manifest_of(decoded(tls_secret(chain, key)))
    assert manifest["metadata"]["name"] == "shop-tls"
    assert manifest["stringData"].keys() == {"tls.crt", "tls.key"}
    text = msgspec.json.encode(manifest).decode()
    assert "BEGIN" not in text
