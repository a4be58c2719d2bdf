"""Which kinds there are."""

from __future__ import annotations

from k8s_source.kinds.core import Secret, Service
from k8s_source.kinds.discovery import EndpointSlice
from k8s_source.kinds.gateway_tidegate import DynamicGateway
from k8s_source.kinds.gateway_v1beta1 import DynamicGatewayV1Beta1
from k8s_source.kinds.meta import Manifest

KINDS: dict[tuple[str, str], type[Manifest]] = {
    ("discovery.k8s.io/v1", "EndpointSlice"): EndpointSlice,
    ("gateway.tidegate.dev/v1alpha1", "DynamicGateway"): DynamicGateway,
    ("gateway.tidegate.dev/v1beta1", "DynamicGateway"): DynamicGatewayV1Beta1,
    ("v1", "Secret"): Secret,
    ("v1", "Service"): Service,
}
"""Types by `apiVersion` and `kind`."""
