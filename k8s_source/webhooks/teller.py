"""Tells the API server where the webhooks are and whom to trust: in the CRD, and in the ValidatingWebhookConfiguration.

Whoever applies these anew may drop it, so it is looked at again and again, and put back.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import msgspec

from k8s_source.client.api import Api
from k8s_source.client.errors import ApiError
from k8s_source.client.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource

DEFINITION = "dynamicgateways.gateway.tidegate.dev"
"""The CustomResourceDefinition, and the webhook in the configuration."""

CONFIGURATION = "tidegate"
"""The ValidatingWebhookConfiguration."""

CONVERT, VALIDATE = "/convert", "/validate"
"""The paths of the two webhooks."""

VALIDATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the API server finds the webhook: a Service, or, from outside the cluster, a URL without a path."""

    namespace: str = ""
    service: str = ""
    url: str = ""

    def client_config(self, path: str, bundle: bytes) -> dict[str, Any]:
        """A `clientConfig`, as both kinds of objects have it."""
        trusted = {"caBundle": b64encode(bundle).decode()}
        if self.url:
            return {"url": self.url + path, **trusted}
        service = {"namespace": self.namespace, "name": self.service, "path": path, "port": 443}
        return {"service": service, **trusted}


class Teller:
    """Writes that, where it is not so."""

    def __init__(self, api: Api, place: Place) -> None:
        """Nothing is asked before `tell`."""
        self._api = api
        self._place = place

    async def tell(self, bundle: bytes) -> tuple[str, ...]:
        """Have these authorities trusted; what had to be changed for it. What is not installed needs none.

        Raises:
            ApiError: An object can't be read or written.
        """
        changed = [await self._definition(bundle), await self._configuration(bundle)]
        return tuple(each for each in changed if each)

    async def _definition(self, bundle: bytes) -> str:
        found = await self._get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)
        conversion = (found or {}).get("spec", {}).get("conversion", {})
        webhook = conversion.get("webhook")
        if conversion.get("strategy") != "Webhook" or not isinstance(webhook, dict):
            return ""  # not installed, or without conversion
        wanted = self._place.client_config(CONVERT, bundle)
        given = webhook.get("clientConfig") or {}
        if given == wanted:
            return ""
        patch = {"spec": {"conversion": {"webhook": {"clientConfig": _difference(given, wanted)}}}}
        body = msgspec.json.encode(patch)
        await self._api.patch(CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION, body, kind="merge")
        return f"CustomResourceDefinition {DEFINITION}"

    async def _configuration(self, bundle: bytes) -> str:
        found = await self._get(VALIDATING_WEBHOOK_CONFIGURATIONS, CONFIGURATION)
        wanted = self._place.client_config(VALIDATE, bundle)
        webhooks = enumerate((found or {}).get("webhooks") or [])
        patch: list[dict[str, Any]] = []
        for index, each in webhooks:
            if each["name"] == DEFINITION and each["clientConfig"] != wanted:
                patch.append({"op": "test", "path": f"/webhooks/{index}/name", "value": DEFINITION})
                patch.append({"op": "replace", "path": f"/webhooks/{index}/clientConfig", "value": wanted})
        if not patch:
            return ""
        body = msgspec.json.encode(patch)
        await self._api.patch(VALIDATING_WEBHOOK_CONFIGURATIONS, "", CONFIGURATION, body, kind="json")
        return f"ValidatingWebhookConfiguration {CONFIGURATION}"

    async def _get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = msgspec.json.decode(await self._api.get(resource, "", name))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        return found


def _difference(given: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """A merge patch: no more than differs, so that nothing else becomes ours."""
    changed = {key: each for key, each in wanted.items() if given.get(key) != each}
    return changed | dict.fromkeys(key for key in given if key not in wanted)
