"""What the settings say about a Kubernetes cluster: the way in, and the section `kubernetes`, work that changes things there."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.base import Section
from xds_server.settings.units import Count, Filename, Interval

JITTER = 1.2
"""A try to renew a lease comes after up to so many times `retry_period`, as client-go has it."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_KEY = r"([a-z0-9][-a-z0-9.]{0,252}/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?"
_SET = rf"\(\s*{_VALUE}(\s*,\s*{_VALUE})*\s*\)"
_REQUIREMENT = rf"\s*(!\s*{_KEY}|{_KEY}(\s*(=|==|!=)\s*{_VALUE}|\s+(not)?in\s*{_SET})?)\s*"
_SELECTOR = re.compile(rf"{_REQUIREMENT}(,{_REQUIREMENT})*", re.ASCII)
"""See "Labels and Selectors: API" of Kubernetes' documentation."""


def _namespace(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise PydanticCustomError("expected", "the name of a namespace (lower-case letters, digits and -)")
    return text


def _object_name(text: str) -> str:
    if len(text) > 253 or not _SUBDOMAIN.fullmatch(text):  # noqa: PLR2004 - the limit of names of objects
        raise PydanticCustomError("expected", "the name of an object (lower-case letters, digits, - and .)")
    return text


def _selector(text: str) -> str:
    if not _SELECTOR.fullmatch(text):
        raise PydanticCustomError("expected", "a label selector such as team=shop or tier in (edge, inner)")
    return text


Namespace = Annotated[str, AfterValidator(_namespace)]
"""The name of a namespace."""

ObjectName = Annotated[str, AfterValidator(_object_name)]
"""The name of an object."""


class KubernetesEntry(Section):
    """Objects of a Kubernetes cluster."""

    kind: Literal["kubernetes"]
    """`kubernetes`; at most one entry is of this kind."""
    kubeconfig: Filename | None = None
    """Kubeconfig file; none: the pod's service account, else the user's default kubeconfig."""
    context: Annotated[str, Field(min_length=1)] | None = None
    """Context of the kubeconfig; none: its current one."""
    namespaces: Annotated[tuple[Namespace, ...], Field(min_length=1)] = ()
    """Namespaces to watch; none: all. An empty list is refused, since it would not say which of the two is meant."""
    label_selector: Annotated[str, AfterValidator(_selector)] | None = None
    """Labels that a DynamicGateway must have to be read, as `kubectl get -l` takes them; none: all are read."""
    gateway_class_controller: str = "tidegate.dev/gateway-controller"
    """`controllerName` of the GatewayClasses that are ours."""


class LeaderElection(Section):
    """How replicas agree on the one that writes to the cluster: by a Lease."""

    enabled: bool = True
    """Agree; without it every replica writes, so there must be one only."""
    name: ObjectName = "tidegate"
    """Name of the Lease."""
    namespace: Namespace | None = None
    """Namespace of the Lease; none: that of the pod, else that of the kubeconfig's context, else `default`."""
    lease_duration: Interval = 15.0
    """So long after its last renewal others take a Lease over."""
    renew_deadline: Interval = 10.0
    """A leader that can't renew for so long stops to write."""
    retry_period: Interval = 2.0
    """Time between two tries to get or renew the Lease."""

    @model_validator(mode="after")
    def _stops_before_others_begin(self) -> Self:
        """The rules of client-go's leader election; a Lease counts whole seconds."""
        if self.lease_duration < 1 or self.lease_duration % 1:
            raise PydanticCustomError("expected", "a lease_duration of whole seconds")
        if self.lease_duration <= self.renew_deadline:
            raise PydanticCustomError("expected", "a lease_duration of more than renew_deadline")
        if self.renew_deadline <= JITTER * self.retry_period:
            raise PydanticCustomError("expected", f"a renew_deadline of more than {JITTER:g} times retry_period")
        return self


class Status(Section):
    """How the status of objects is written."""

    lag_interval: Interval = 30.0
    """Numbers that move all the time (lag, ages) are written alone at most so often."""


class Kubernetes(Section):
    """The section `kubernetes`: how the cluster is read, and work that changes things in it."""

    watch_timeout: Interval = 300.0
    """A watch is opened anew after this time or less, by chance; one that has not ended some seconds later is lost."""
    leader_election: LeaderElection = LeaderElection()
    """How replicas agree on the one that writes."""
    max_concurrent_reconciles: Count = 4
    """Objects that are worked on at the same time."""
    deprogram_timeout: Interval = 30.0
    """How long the deletion of a DynamicGateway waits for Envoys to let go of it."""
    status: Status = Status()
    """How the status of objects is written."""
