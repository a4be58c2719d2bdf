"""The Kubernetes cluster of the settings, if there is one. What works with it is imported only then.

The client library alone takes half a second and 35 MB, which nobody without a cluster should pay.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from xds_server.settings.kubernetes import KubernetesEntry
from xds_server.settings.root import Settings
from xds_server.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from k8s_source.client.connect import Connection
    from k8s_source.cluster import Cluster


def entry_of(settings: Settings) -> KubernetesEntry | None:
    """The entry of `sources` that names a cluster; there is one at most."""
    return next((each for each in settings.sources if isinstance(each, KubernetesEntry)), None)


def connection_of(entry: KubernetesEntry) -> Connection:
    """How to reach the API server that an entry names."""
    from k8s_source.client.connect import Connection  # noqa: PLC0415

    return Connection(entry.kubeconfig, entry.context or "", f"tidegate/{version('tidegate')}")


def make_cluster(settings: Settings, metrics: Metrics) -> Cluster | None:
    """The cluster; nothing is asked yet, so it can't fail by what is wrong there."""
    entry = entry_of(settings)
    if entry is None:
        return None
    from k8s_source.client.connect import connect  # noqa: PLC0415
    from k8s_source.cluster import Cluster, Scope  # noqa: PLC0415
    from k8s_source.informer.target import Tuning  # noqa: PLC0415
    from xds_server.app.informing import observe_informers  # noqa: PLC0415

    scope = Scope(entry.namespaces, entry.label_selector or "")
    tuning = Tuning(settings.kubernetes.watch_timeout)
    cluster = Cluster(connect(connection_of(entry), requested=metrics.requested), scope, tuning, metrics)
    observe_informers(metrics, cluster.informers)
    return cluster
