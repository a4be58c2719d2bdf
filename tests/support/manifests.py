"""What tests declare beside the manifests of the demo, and the name of the listener that most of them have."""

from __future__ import annotations

import base64

from tests.support.certificates import Pair
from xds_server.demo.manifests import Manifest, listener_name

HTTP_NAME = listener_name("web")
"""What Envoy calls the listener of gateway `web`."""


def tls_secret(name: str, pair: Pair) -> Manifest:
    """A Secret with a certificate."""
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }
