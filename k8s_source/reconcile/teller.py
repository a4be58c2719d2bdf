"""Events about DynamicGateways, as the recorder wants them."""

from __future__ import annotations

from k8s_source.client.resource import DYNAMIC_GATEWAYS
from k8s_source.events.event import Event, Reference, Type
from k8s_source.events.recorder import Recorder
from k8s_source.informer.item import Item
from k8s_source.kinds.stated import Stated
from k8s_source.reconcile.happenings import Happening


class RecordingTeller:
    """Has Events recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def tell(self, item: Item[Stated], happening: Happening) -> None:
        """See `Teller`."""
        self._recorder.record(
            Event(
                Reference(
                    DYNAMIC_GATEWAYS.api_version,
                    DYNAMIC_GATEWAYS.kind,
                    item.key.name,
                    item.key.namespace,
                    item.meta.uid,
                    item.meta.resource_version,
                ),
                Type.WARNING if happening.is_warning else Type.NORMAL,
                happening.reason.value,
                happening.action,
                happening.note,
            )
        )
