"""This replica among others: what it tells them, what they tell, and how it finds and asks them."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from xds_server.admin.peers import Access, Peers
from xds_server.credentials.tls import read_authorities
from xds_server.credentials.tokens import read_token
from xds_server.credentials.watched import Credentials
from xds_server.settings.replicas import Replicas as Section
from xds_server.snapshot.groups import Groups
from xds_server.status.bulletin import Bulletin
from xds_server.status.replicas import Replicas
from xds_server.status.tracker import Tracker


@dataclass(frozen=True, slots=True)
class Replicating:
    """What this replica tells, what the others tell, and who asks them: None where there are no others."""

    bulletin: Bulletin
    replicas: Replicas
    peers: Peers | None

    async def run(self) -> None:
        """Ask the others until cancelled."""
        if self.peers is not None:
            await self.peers.run()


def make_replicating(section: Section, groups: Groups, tracker: Tracker, credentials: Credentials) -> Replicating:
    """Make and join them; nobody is asked yet.

    Raises:
        CredentialError: the token or the authorities can't be used.
    """
    bulletin = Bulletin(groups, tracker, section.name or socket.gethostname(), time.time)
    replicas = Replicas(bulletin.instance)
    if not section.urls:
        return Replicating(bulletin, replicas, None)
    peers = Peers(replicas, _access(section, credentials))
    peers.expect({url: url for url in section.urls})
    return Replicating(bulletin, replicas, peers)


def _access(section: Section, credentials: Credentials) -> Access:
    token_file, ca = section.token_file, section.ca
    token, trust = None, None
    if token_file is not None:
        token = credentials.watch("replicas.token_file", [token_file], lambda: read_token(token_file))
    if ca is not None:
        trust = credentials.watch("replicas.ca", [ca], lambda: read_authorities(ca))
    return Access(lambda: token.value if token else "", lambda: trust.value if trust else None)
