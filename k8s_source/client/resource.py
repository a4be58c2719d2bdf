"""Resources: what the API server has under which path."""

from __future__ import annotations

from typing import NamedTuple


class Resource(NamedTuple):
    """A kind with its place in the API; `group` is "" for core kinds. See "API terminology" of Kubernetes' reference."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects have it: `discovery.k8s.io/v1`, `v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        """The path of its group and version: `/apis/discovery.k8s.io/v1`, `/api/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of all (no namespace), of a namespace's, of one, or of a part of one (`status`)."""
        within = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        one = f"/{name}" if name else ""
        part = f"/{subresource}" if subresource else ""
        return f"{self.base}{within}/{self.plural}{one}{part}"


SERVICES = Resource("", "v1", "services", "Service")
SECRETS = Resource("", "v1", "secrets", "Secret")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
DYNAMIC_GATEWAYS = Resource("gateway.tidegate.dev", "v1alpha1", "dynamicgateways", "DynamicGateway")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
