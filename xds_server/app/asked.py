"""What the admin API is given to answer from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k8s_source.kinds.decode import decode_manifest
from k8s_source.kinds.manifests import manifest_of
from xds_server.admin import AdminDeps, Evidence
from xds_server.app.flow import Flow
from xds_server.app.replicating import Replicating
from xds_server.app.telling import Telling
from xds_server.app.watching import Watching
from xds_server.settings.root import Settings
from xds_server.settings.sources import FilesEntry
from xds_server.sources.files.inputs import inputs
from xds_server.status.switchboard import Switchboard
from xds_server.status.tracker import Tracker
from xds_server.translate.render import to_json
from xds_server.translate.replay import archived_document

if TYPE_CHECKING:
    from k8s_source.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Joined:
    """The parts that it asks; `stopping` is set when the process is about to end."""

    flow: Flow
    telling: Telling
    tracker: Tracker
    watching: Watching
    replicating: Replicating
    board: Switchboard
    cluster: Cluster | None
    stopping: asyncio.Event

    def unready(self) -> str | None:
        """Why the process is not ready; None when it is."""
        if self.stopping.is_set():
            return "shutting down"
        flow = self.flow
        return None if flow.groups.synced or flow.state.restored else "not every source has been read once yet"


def admin_deps(settings: Settings, joined: Joined) -> AdminDeps:
    """The parts as the admin API names them."""
    flow, telling, watching = joined.flow, joined.telling, joined.watching
    return AdminDeps(
        flow.groups,
        joined.tracker,
        telling.bus,
        flow.pipeline.sources,
        joined.unready,
        to_json,
        telling.metrics.render,
        flow.pipeline,
        telling.audit,
        flow.state.flushed,
        watching.book,
        watching.observations,
        joined.board,
        joined.replicating.bulletin,
        joined.replicating.replicas,
        flow.push,
        evidence=_evidence(settings, joined.cluster),
        on_disk=flow.state.on_disk,
    )


def _evidence(settings: Settings, cluster: Cluster | None) -> Evidence:
    """What an archive has beside what is served."""
    paths = [entry.path for entry in settings.sources if isinstance(entry, FilesEntry)]
    return Evidence(
        lambda: inputs(paths, archived_document, decode_manifest),
        lambda: [manifest_of(each) for each in cluster.source.objects()] if cluster is not None else [],
        settings.model_dump(mode="json"),
    )
