"""The whole configuration as one frozen value."""

from __future__ import annotations

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from xds_server.settings.admin import Admin
from xds_server.settings.base import Section
from xds_server.settings.fleet import Degradation, GroupRule, Provision, Rollout
from xds_server.settings.kubernetes import Kubernetes, KubernetesEntry
from xds_server.settings.observers import Observers
from xds_server.settings.replicas import Replicas
from xds_server.settings.runtime import Log
from xds_server.settings.safety import History, Preflight
from xds_server.settings.sources import Files, SourceEntries
from xds_server.settings.units import Filename
from xds_server.settings.xds import Xds


class Settings(Section):
    """All that can be configured. It reads nothing by itself: `load` makes it from file, environment, flags."""

    xds: Xds = Xds()
    """The xDS server."""
    admin: Admin = Admin()
    """The admin API."""
    state_dir: Filename | None = None
    """Directory for history and the last known good; none: they are in memory only."""
    sources: SourceEntries = Field(default=(), validate_default=True)
    """Where configuration comes from."""
    files: Files = Files()
    """What holds for all entries of kind `files`."""
    groups: tuple[GroupRule, ...] = ()
    """Which node is of which group. The first entry that fits counts, before what the node says itself."""
    observers: Observers = Observers()
    """What is measured outside."""
    rollout: Rollout = Rollout()
    """How a new version reaches the nodes."""
    history: History = History()
    """Which earlier versions are kept."""
    preflight: Preflight = Preflight()
    """A real Envoy checks before serving."""
    provision: Provision = Provision()
    """Envoy Deployments that Tidegate makes."""
    degradation: Degradation = Degradation()
    """What holds for all degraded routes."""
    replicas: Replicas = Replicas()
    """Other control planes that serve the same Envoys."""
    kubernetes: Kubernetes = Kubernetes()
    """Work in a Kubernetes cluster."""
    log: Log = Log()
    """What is logged."""

    @field_validator("sources")
    @classmethod
    def _names_the_cluster_that_is_asked(cls, sources: SourceEntries, info: ValidationInfo) -> SourceEntries:
        """Tokens are reviewed by the cluster that is read; there is no second way to name one."""
        xds = info.data.get("xds")
        asks = xds is not None and xds.auth is not None and xds.auth.token_review is not None
        if asks and not any(isinstance(entry, KubernetesEntry) for entry in sources):
            raise PydanticCustomError(
                "expected", "an entry of kind kubernetes, whose API server xds.auth.token_review asks"
            )
        return sources

    @field_validator("replicas")
    @classmethod
    def _finds_them_in_the_cluster(cls, replicas: Replicas, info: ValidationInfo) -> Replicas:
        has_cluster = any(isinstance(entry, KubernetesEntry) for entry in info.data.get("sources", ()))
        if (replicas.service or replicas.audience) and "sources" in info.data and not has_cluster:
            raise PydanticCustomError("expected", "an entry of kind kubernetes in sources, whose API server is asked")
        return replicas
