"""The whole configuration as one frozen value."""

from __future__ import annotations

from xds_server.settings.admin import Admin
from xds_server.settings.base import Section
from xds_server.settings.fleet import Degradation, GroupRule, Provision, Rollout
from xds_server.settings.kubernetes import Kubernetes
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
    sources: SourceEntries = ()
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
