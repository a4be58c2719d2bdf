"""What all objects have: `metadata`, and the two fields that tell their kind."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from k8s_source.kinds.fields import Label, Subdomain

DEFAULT_NAMESPACE = "default"
"""The namespace of a manifest that names none."""

GROUP_ANNOTATION = "tidegate.dev/group"
"""The annotation that names the group of nodes an object is for."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which `kubectl apply` keeps the whole object once more, a Secret's values too."""


class ObjectMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """`metadata`, as far as Tidegate uses it. Further fields are Kubernetes' own and accepted."""

    name: Subdomain
    namespace: Label = DEFAULT_NAMESPACE
    generation: Annotated[int, Meta(ge=0)] = 0
    creation_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None

    def __post_init__(self) -> None:
        """Forget what nobody reads."""
        if self.annotations is not None:
            self.annotations.pop(LAST_APPLIED, None)


class Manifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of every object; a kind adds its own."""

    api_version: str
    kind: str
    metadata: ObjectMeta

    def hub(self) -> Manifest:
        """The object in the version of its kind that the rest of Tidegate knows."""
        return self
