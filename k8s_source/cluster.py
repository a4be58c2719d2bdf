"""One cluster: its API server, what is read of it, and where we are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k8s_source.client.api import Api
from k8s_source.client.resource import DYNAMIC_GATEWAYS, ENDPOINT_SLICES, SECRETS, SERVICES, Resource
from k8s_source.informer.informer import Informer
from k8s_source.informer.meter import Meter
from k8s_source.informer.shared import Informers
from k8s_source.informer.target import Tuning
from k8s_source.kinds.core import TLS_SECRET
from k8s_source.kinds.items import Declared, ItemDecoder
from k8s_source.kinds.stated import Stated, StatedDecoder
from k8s_source.source import NAME, KubernetesSource


@dataclass(frozen=True, slots=True)
class Scope:
    """What is read: in which namespaces (none: all), and which DynamicGateways, by a label selector ("": all)."""

    namespaces: Sequence[str] = ()
    labels: str = ""


class Cluster:
    """The API server and the informers that everybody shares.

    Of Secrets those are read that hold a certificate and its key; no other leaves the API server.
    """

    def __init__(self, api: Api, scope: Scope, tuning: Tuning, meter: Meter) -> None:
        self.api = api
        self.informers = Informers(api, namespaces=scope.namespaces, meter=meter, tuning=tuning)
        self.services = self._declared(SERVICES)
        self.slices = self._declared(ENDPOINT_SLICES)
        self.secrets = self._declared(SECRETS, f"type={TLS_SECRET}")
        self.gateways: Informer[Stated] = self.informers.informer(
            DYNAMIC_GATEWAYS, StatedDecoder(_decoder(DYNAMIC_GATEWAYS)), labels=scope.labels
        )
        self.source = KubernetesSource((self.services, self.slices, self.secrets, self.gateways))

    def _declared(self, resource: Resource, fields: str = "") -> Informer[Declared]:
        return self.informers.informer(resource, _decoder(resource), fields=fields)

    async def run(self) -> None:
        """Read until cancelled."""
        await self.informers.run()

    async def close(self) -> None:
        """Close all connections."""
        await self.api.close()


def _decoder(resource: Resource) -> ItemDecoder:
    return ItemDecoder(NAME, resource.api_version, resource.kind)
