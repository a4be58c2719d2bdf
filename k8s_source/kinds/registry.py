"""Which kinds there are."""

from __future__ import annotations

from k8s_source.kinds.conversion import KIND, V1ALPHA1, V1BETA1
from k8s_source.kinds.core import Secret, Service
from k8s_source.kinds.discovery import EndpointSlice
from k8s_source.kinds.gateway_tidegate import DynamicGateway
from k8s_source.kinds.gateway_v1beta1 import DynamicGatewayV1Beta1
from k8s_source.kinds.meta import Manifest

KINDS: dict[tuple[str, str], type[Manifest]] = {
    ("discovery.k8s.io/v1", "EndpointSlice"): EndpointSlice,
    (V1ALPHA1, KIND): DynamicGateway,
    (V1BETA1, KIND): DynamicGatewayV1Beta1,
    ("v1", "Secret"): Secret,
    ("v1", "Service"): Service,
}
"""Types by `apiVersion` and `kind`."""
