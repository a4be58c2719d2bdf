"""One DynamicGateway on a server that takes what it is given: for what takes time, or goes wrong on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.informer.item import Item, ItemKey, ItemMeta
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile.finalizer import FINALIZER
from k8s_source.reconcile.gateways import GatewayReconciler, Options
from k8s_source.reconcile.happenings import Happening
from k8s_source.reconcile.writer import Writer
from tests.unit.k8s_source.reconcile.states import KEY, state
from xds_server.ir.gateway import GatewayKey
from xds_server.ir.gateway_status import GatewayState
from xds_server.ir.writes import Write

ITEM_KEY = ItemKey(*KEY)


class World:
    """The server, what the informer has seen of it, what derivation knows, who leads, and what was told."""

    identity = "replica-0"

    def __init__(self, options: Options | None = None) -> None:
        self.now = 1000.0
        self.meta = ItemMeta("uid-1", "100", 1)
        self.status: dict[str, Any] = {}
        self.seen: Item[Stated] | None = None
        self.gateway: GatewayState | None = state()
        self.leads = True
        self.is_free = False
        self.is_there = True
        self.answers: list[ApiError | None] = []
        self.writes: list[str] = []
        self.notes: list[Write] = []
        self.events: list[str] = []
        writer = Writer(cast("Api", self), self, self)
        self.reconciler = GatewayReconciler(
            "kubernetes",
            lambda _key: self.seen,
            self,
            writer,
            self,
            options=options or Options(),
            clock=lambda: self.now,
        )
        self.look()

    def look(self) -> None:
        """The informer sees what is there now."""
        self.seen = Item(ITEM_KEY, self.meta, Stated((), msgspec.json.encode(self.status) if self.status else b""))

    async def reconcile(self, after: float = 0.0, *, sees: bool = True) -> float | None:
        """Reconcile so much later; when to look again."""
        self.now += after
        found = await self.reconciler.reconcile(ITEM_KEY)
        if sees and self.seen is not None:
            self.look()
        return found.requeue_after

    # The API server.

    async def apply(self, _resource: object, _namespace: str, _name: str, body: bytes, **_how: object) -> bytes:
        self._answer("status")
        self.status = msgspec.json.decode(body)["status"]
        return self._changed()

    async def patch(self, _resource: object, _namespace: str, _name: str, body: bytes, **_how: object) -> bytes:
        last = msgspec.json.decode(body)[-1]
        self._answer(last["op"])
        held = (FINALIZER,) if last["op"] == "add" else ()
        self.meta = replace(self.meta, finalizers=held)
        return self._changed()

    async def request(self, _method: str, _path: str, *, query: object) -> bytes:
        """A list of what there is under the one name."""
        assert query == (("fieldSelector", f"metadata.name={ITEM_KEY.name}"),)
        self._answer("list")
        meta: dict[str, object] = {"uid": self.meta.uid, "namespace": ITEM_KEY.namespace, "name": ITEM_KEY.name}
        meta |= {"resourceVersion": self.meta.resource_version, "finalizers": self.meta.finalizers, "generation": 1}
        return msgspec.json.encode({"metadata": {}, "items": [{"metadata": meta}] if self.is_there else []})

    def leave(self) -> None:
        """The object does not fit the selector any more: the informer tells it as if it were gone."""
        assert self.seen is not None
        self.reconciler.left(self.seen)
        self.seen = None

    def _answer(self, what: str) -> None:
        answer = self.answers.pop(0) if self.answers else None
        self.writes.append(what if answer is None else f"{what}: {answer.status}")
        if answer is not None:
            raise answer

    def _changed(self) -> bytes:
        self.meta = replace(self.meta, resource_version=str(int(self.meta.resource_version) + 1))
        return msgspec.json.encode({"metadata": {"resourceVersion": self.meta.resource_version}, "status": self.status})

    # What is known of gateways, who leads, and who is told.

    def get(self, _key: GatewayKey) -> GatewayState | None:
        return self.gateway

    def is_deprogrammed(self, _key: GatewayKey) -> bool:
        return self.is_free

    def follow(self, told: Callable[[GatewayKey, bool], None]) -> None:
        pass

    def is_leader(self) -> bool:
        return self.leads

    def remaining(self) -> float:
        return 10.0

    def wrote(self, write: Write) -> None:
        self.notes.append(write)

    def tell(self, _item: Item[Stated], happening: Happening) -> None:
        self.events.append(happening.reason.value)
