"""Objects as manifests again, for people who look into a fault; without the values of Secrets. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from k8s_source.kinds.core import Secret
from k8s_source.kinds.decode import without_nulls
from xds_server.ir.objects import Object

WITHHELD = "[withheld]"
"""Stands in the place of a value of a Secret."""


def manifest_of(declared: Object) -> dict[str, Any]:
    """What is known of an object, in the form in which it can be declared. What is not read is not there."""
    manifest: Any = without_nulls(msgspec.json.decode(msgspec.json.encode(declared.value)))
    if isinstance(declared.value, Secret):
        fields = manifest.keys() & {"data", "stringData"}
        manifest |= {field: dict.fromkeys(manifest[field], WITHHELD) for field in fields}
    found: dict[str, Any] = manifest
    return found
