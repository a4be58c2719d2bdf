"""The CustomResourceDefinitions, and their YAML."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML

from k8s_source.crds.gateway import BOOK
from k8s_source.crds.schema import Schema, object_schema
from k8s_source.crds.words import ROOT
from k8s_source.kinds.conversion import API_GROUP
from k8s_source.kinds.gateway_status import DynamicGatewayStatus
from k8s_source.kinds.gateway_tidegate import DynamicGateway, DynamicGatewaySpec
from k8s_source.kinds.gateway_v1beta1 import DynamicGatewaySpecV1Beta1

Definition = dict[str, Any]

STORED = "v1alpha1"
"""The version that is stored: what reads objects as they are needs no webhook."""

NAMESPACE, SERVICE = "tidegate-system", "tidegate-webhook"
"""Where the conversion webhook is found, unless `tidegate webhook` says otherwise."""

_VERSIONS: dict[str, type[Struct]] = {STORED: DynamicGatewaySpec, "v1beta1": DynamicGatewaySpecV1Beta1}


def definitions(*, with_webhook: bool = True, url: str = "") -> tuple[Definition, ...]:
    """The definitions, with the webhook at a `url` (without a path) or, without one, behind the Service of `deploy/`.

    Without the webhook only the version that is stored is served: whoever asked for another one would be given an error.
    """
    versions = [_version(name, spec, served=with_webhook or name == STORED) for name, spec in _VERSIONS.items()]
    return (_dynamic_gateways(_conversion(url) if with_webhook else {"strategy": "None"}, versions),)


def _conversion(url: str) -> Schema:
    service = {"service": {"namespace": NAMESPACE, "name": SERVICE, "port": 443, "path": "/convert"}}
    config: Schema = {"url": f"{url.rstrip('/')}/convert"} if url else service
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}


def to_yaml(definition: Definition) -> str:
    """A definition as YAML."""
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 88
    yaml.representer.ignore_aliases = lambda _: True
    text = StringIO()
    yaml.dump(definition, text)
    # Where a long text is broken the writer leaves a space, which says nothing.
    return re.sub(" +$", "", text.getvalue(), flags=re.MULTILINE)


def _dynamic_gateways(conversion: Schema, versions: list[Schema]) -> Definition:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"dynamicgateways.{API_GROUP}"},
        "spec": {
            "group": API_GROUP,
            "names": {
                "kind": "DynamicGateway",
                "listKind": "DynamicGatewayList",
                "plural": "dynamicgateways",
                "singular": "dynamicgateway",
                "shortNames": ["dgw"],
                "categories": ["tidegate"],
            },
            "scope": "Namespaced",
            "conversion": conversion,
            "versions": versions,
        },
    }


def _version(name: str, spec: type[Struct], *, served: bool) -> Schema:
    return {
        "name": name,
        "served": served,
        "storage": name == STORED,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(each) for each in _COLUMNS],
        "schema": {"openAPIV3Schema": _root(spec)},
    }


def _root(spec: type[Struct]) -> Schema:
    parts: dict[str, Schema] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": object_schema(spec, BOOK),
        "status": object_schema(DynamicGatewayStatus, BOOK),
    }
    # Of metadata the API server takes no description.
    described = {name: {"description": ROOT[name], **part} if name in ROOT else part for name, part in parts.items()}
    return {"type": "object", "description": DynamicGateway.__doc__, "required": ["spec"], "properties": described}


def _condition(kind: str, what: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{what}'


_COLUMNS: tuple[Schema, ...] = (
    {"name": "Ready", "type": "string", "jsonPath": _condition("Ready", "status")},
    {"name": "Envoys", "type": "string", "jsonPath": ".status.envoys"},
    {"name": "Degraded", "type": "string", "jsonPath": _condition("Degraded", "status")},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
    {"name": "Version", "type": "string", "jsonPath": ".status.lastAckedVersion", "priority": 1},
    {"name": "Why", "type": "string", "jsonPath": _condition("Ready", "message"), "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
"""Is it live, on how many nodes, is it degraded? Those with a priority are for `-o wide`."""
