"""What goes into an archive: resources in a form that can be read back with the same version, and all without secrets."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xds_server.ir.declared import REDACTED_MARK, Declared, NativeDocument
from xds_server.ir.origin import Origin
from xds_server.ir.problem import ProblemError
from xds_server.translate.expected import is_plain_name
from xds_server.translate.inline import secrets_of
from xds_server.translate.native import decode
from xds_server.translate.present import REDACTED, present_free
from xds_server.translate.render import to_json
from xds_server.translate.sensitive import is_secret_text
from xds_server.translate.strict import names_of_bytes
from xds_server.wire.resource import Resource
from xds_server.wire.types import ENDPOINT

_WRAPPER = "type.googleapis.com/envoy.service.discovery.v3.Resource"
_IN_BYTES = base64.b64encode(REDACTED.encode()).decode()
_TOLD = frozenset({"@type", "name", "cluster_name", "clusterName"})
"""Keys whose texts are told of a document that can't be decoded."""


@dataclass(frozen=True, slots=True)
class Archived:
    """An item of Envoy's file form. `is_whole` is false where only name and version could be kept."""

    item: Mapping[str, object]
    is_whole: bool = True


def archived(resource: Resource) -> Archived:
    """A resource for an archive. What is redacted keeps the version that it had, beside a mark that says so."""
    body = {key: _fit(key, value) for key, value in to_json(resource).items()}
    again = _decoded(body)
    if again is None or again.name != resource.name:
        name = "cluster_name" if resource.type_url == ENDPOINT else "name"
        return Archived(_item(resource, {"@type": resource.type_url, name: resource.name}, marked=True), is_whole=False)
    return Archived(_item(resource, body, marked=again.version != resource.version))


def archived_document(document: Declared) -> object:
    """A document as it was read, without secrets; of one that does not decode only names and what is no text."""
    try:
        return to_json(decode(document))
    except ProblemError:
        return _outline(document.body) if isinstance(document, NativeDocument) else None


def without_secrets(value: object, resources: Iterable[Resource] = ()) -> object:
    """JSON values without what looks like a secret, and without the secrets of these resources wherever they stand."""
    known = sorted({secret for each in resources for secret in secrets_of(each)}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, known))) if known else None
    return _scrubbed(present_free(value), pattern)


def _item(resource: Resource, body: Mapping[str, object], *, marked: bool) -> dict[str, object]:
    item: dict[str, object] = {"@type": _WRAPPER, "name": resource.name, "version": resource.version}
    if marked:
        item["metadata"] = REDACTED_MARK
    return {**item, "resource": body}


def _decoded(body: Mapping[str, object]) -> Resource | None:
    try:
        return decode(NativeDocument("", body, Origin("")))
    except ProblemError:
        return None


def _fit(key: str, value: object) -> object:
    """Where bytes are redacted, base64 has to stand."""
    if isinstance(value, dict):
        return {below: _fit(below, each) for below, each in value.items()}
    if isinstance(value, list):
        return [_fit(key, each) for each in value]
    return _IN_BYTES if value == REDACTED and key in names_of_bytes() else value


def _outline(value: object, key: str = "") -> object:
    if isinstance(value, Mapping):
        return {(below if is_plain_name(below) else "(hidden)"): _outline(each, below) for below, each in value.items()}
    if isinstance(value, list):
        return [_outline(each) for each in value]
    if not isinstance(value, str):
        return value
    return value if key in _TOLD and not is_secret_text(value) else "(hidden)"


def _scrubbed(value: object, pattern: re.Pattern[str] | None) -> object:
    if isinstance(value, str):
        text = pattern.sub(REDACTED, value) if pattern else value
        return REDACTED if is_secret_text(text) else text
    if isinstance(value, Mapping):
        return {key: _scrubbed(each, pattern) for key, each in value.items()}
    return [_scrubbed(each, pattern) for each in value] if isinstance(value, list | tuple) else value
