"""This replica among others: what it tells them, what they tell, and how it finds and asks them."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xds_server.admin.peers import Access, Peers
from xds_server.app.cluster import connection_of, entry_of
from xds_server.credentials.tls import read_client
from xds_server.credentials.tokens import read_token
from xds_server.credentials.watched import Credentials, Watched
from xds_server.ir.facts import RouteKey
from xds_server.settings.replicas import Replicas as Section
from xds_server.settings.root import Settings
from xds_server.snapshot.groups import Groups
from xds_server.status.bulletin import Bulletin
from xds_server.status.replicas import Replicas
from xds_server.status.tracker import Tracker

if TYPE_CHECKING:
    from k8s_source.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Replicating:
    """What this replica tells, what the others tell, and who asks them: None where there are no others."""

    bulletin: Bulletin
    replicas: Replicas
    peers: Peers | None

    def touched(self, routes: Collection[RouteKey]) -> None:
        """Tell the others what we go by for these routes, and look anew by what we go."""
        self.bulletin.touch_routes(routes)
        self.replicas.reconsider(routes)

    async def run(self) -> None:
        """Ask the others until cancelled."""
        if self.peers is not None:
            await self.peers.run()


def make_replicating(
    settings: Settings,
    groups: Groups,
    tracker: Tracker,
    *,
    token: Watched[str] | None,
    credentials: Credentials,
    cluster: Cluster | None,
) -> Replicating:
    """Make and join them; nobody is asked yet. `token` is what is shown to the others.

    Raises:
        CredentialError: the authorities can't be used.
    """
    section = settings.replicas
    bulletin = Bulletin(groups, tracker, section.name or socket.gethostname(), time.time)
    replicas = Replicas(bulletin.instance, bulletin.started)
    if not (section.urls or section.service):
        return Replicating(bulletin, replicas, None)
    peers = Peers(replicas, _access(section, token, credentials))
    if section.urls:
        peers.expect({url: url for url in section.urls})
    elif section.service and cluster is not None:
        _follow(settings, cluster, bulletin.name, peers, replicas)
    return Replicating(bulletin, replicas, peers)


def _follow(settings: Settings, cluster: Cluster, name: str, peers: Peers, replicas: Replicas) -> None:
    """Find the others behind a Service."""
    from k8s_source.client.connect import own_namespace  # noqa: PLC0415 - only with a cluster, see `app.cluster`
    from k8s_source.peers import PeerAddresses  # noqa: PLC0415

    section, entry = settings.replicas, entry_of(settings)
    ours = own_namespace(connection_of(entry)) if entry is not None else ""
    PeerAddresses(
        cluster.informers,
        section.service or "",
        section.namespace or ours,
        name,
        scheme="https" if settings.admin.tls else "http",
        expect=peers.expect,
        unlisted=replicas.unlisted,
    )


def own_token(section: Section, credentials: Credentials) -> Watched[str] | None:
    """What is shown to the others, None where it is nothing.

    Raises:
        CredentialError: the token can't be used.
    """
    if (path := section.token_file) is None:
        return None
    return credentials.watch("replicas.token_file", [path], lambda: read_token(path))


def _access(section: Section, token: Watched[str] | None, credentials: Credentials) -> Access:
    trust, ca = None, section.ca
    pair = (section.cert, section.key) if section.cert is not None and section.key is not None else None
    if paths := [path for path in (ca, *(pair or ())) if path is not None]:
        trust = credentials.watch("replicas.ca, cert", paths, lambda: read_client(ca, pair))
    return Access(lambda: token.value if token else "", lambda: trust.value if trust else None, section.server_name)
