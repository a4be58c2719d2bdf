"""From the bytes of one file to what it declares: native documents and objects, each with its origin, and problems. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from xds_server.ir.declared import REDACTED_MARK, NativeDocument, Unit
from xds_server.ir.objects import Object
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.base import DecodeObject
from xds_server.sources.files.document import ITEMS, LISTED, Document, SyntaxFaultError, is_name
from xds_server.sources.files.json_reader import read_json
from xds_server.sources.files.positions import locate_all
from xds_server.sources.files.yaml_reader import read_yaml

_ENVELOPE = frozenset(
    {
        *("@type", LISTED, "version_info", "versionInfo", "type_url", "typeUrl", "nonce", "canary"),
        *("control_plane", "controlPlane", "resource_errors", "resourceErrors"),
    }
)
"""The fields of a DiscoveryResponse, which is what Envoy reads from files."""

_RESPONSE = "envoy.service.discovery.v3.DiscoveryResponse"
_WRAPPER = "envoy.service.discovery.v3.Resource"
_MANIFEST = re.compile(r"[A-Za-z]{1,60} [A-Za-z0-9./-]{1,80}")
"""Kind and version of a manifest as they should look."""

_EXPECTED = (
    'expected a native xDS document (with "@type"), Envoy\'s file form (with "resources") or a manifest '
    '(with "apiVersion" and "kind")'
)
_EMPTY = "has no content at all (0 bytes); its last good content stays. Delete the file to take it away"
_NO_SUCH_FIELD = "Envoy's file form has no field of a name that stands here"
_MOST_KEYS_SHOWN = 5

_Found = NativeDocument | Object | Problem


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Which file: its source's name, its key there, its path as the user would type it, its group."""

    source: str
    key: str
    path: str
    group: str

    @property
    def origin(self) -> Origin:
        """The origin of what concerns the file as a whole."""
        return Origin(self.source, self.path)


def broken(place: FilePlace, reason: str, message: str, line: int = 0, document: int = 0) -> Unit:
    """The unit of a file that can't be read."""
    origin = replace(place.origin, line=line, document=document)
    return Unit(place.key, problems=(Problem(origin, reason, message),), broken=True)


def unsupported(body: Mapping[str, object], origin: Origin, _group: str) -> tuple[Problem, ...]:
    """The decoder of manifests of those who know no kinds."""
    version, kind = str(body["apiVersion"]), str(body["kind"])
    what = f"kind {kind} ({version})" if _MANIFEST.fullmatch(f"{kind} {version}") else "this kind"
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    namespace, name = (each if isinstance(each := known.get(key), str) else "" for key in ("namespace", "name"))
    origin = replace(origin, api_version=version, kind=kind, namespace=namespace, name=name)
    return (Problem(origin, "UnsupportedKind", f"manifests of {what} are not supported", "kind"),)


def parse(place: FilePlace, data: bytes, decode_object: DecodeObject = unsupported) -> Unit:
    """The unit of a file with this content. Never raises for any content."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"expected text in UTF-8, found the byte 0x{data[error.start]:02x} at offset {error.start}"
        return broken(place, "NotText", message, line)
    read = read_json if place.path.lower().endswith(".json") else read_yaml
    found: list[_Found] = []
    try:
        for document in read(text):
            found += _declared(place, document, decode_object)
    except SyntaxFaultError as fault:
        column = f"column {fault.column}: " if fault.column else ""
        return broken(place, "InvalidSyntax", column + fault.message, fault.line, fault.document)
    documents = tuple(each for each in found if isinstance(each, NativeDocument))
    objects = tuple(each for each in found if isinstance(each, Object))
    problems = [each for each in found if isinstance(each, Problem)]
    if not data:
        return Unit(place.key, emptied=Problem(place.origin, "EmptyFile", _EMPTY))
    return Unit(place.key, documents, objects, _located(text, problems))


def _located(text: str, problems: list[Problem]) -> tuple[Problem, ...]:
    """The problems with the lines of their fields; those of documents are told by their lines already."""
    fields = [(each.origin.document, each.field) for each in problems if each.field]
    found = iter(locate_all(text, fields) if fields else ())
    lines = [next(found)[0] if each.field else 0 for each in problems]
    return tuple(
        replace(each, origin=replace(each.origin, line=max(line, each.origin.line)))
        for each, line in zip(problems, lines, strict=True)
    )


def _declared(place: FilePlace, document: Document, decode_object: DecodeObject) -> Iterator[_Found]:
    value = document.value
    origin = Origin(place.source, place.path, document.number, document.line)
    if value is None:
        return
    if not isinstance(value, dict):
        yield Problem(origin, "UnknownForm", f"{_EXPECTED}, found {_kind(value)}")
    elif "apiVersion" in value and "kind" in value and "@type" not in value:
        if (value["apiVersion"], value["kind"]) == ("v1", "List"):
            yield from _items(place, document, value, origin, decode_object)
            return
        found = decode_object(value, origin, place.group)
        yield from found if isinstance(found, tuple) else (found,)
    elif LISTED in value and (type_name(value) in {"", _RESPONSE}):
        yield from _listed(place, document, value, origin)
    elif "@type" in value:
        yield NativeDocument(place.group, value, _named(origin, value))
    elif "<<" in value:
        yield Problem(origin, "UnknownForm", f'{_EXPECTED}; merge keys ("<<") are not part of YAML 1.2')
    else:
        yield Problem(origin, "UnknownForm", f"{_EXPECTED}, found {_keys(value)}")


def _listed(
    place: FilePlace, document: Document, value: Mapping[str, object], origin: Origin
) -> Iterator[NativeDocument | Problem]:
    """The resources of Envoy's file form, each bare or wrapped as `envoy.service.discovery.v3.Resource`."""
    for key in value.keys() - _ENVELOPE:
        named = (f"Envoy's file form has no field {key!r}{_meant(key)}", key) if is_name(key) else (_NO_SUCH_FIELD, "")
        yield Problem(origin, "UnknownField", *named)
    items = value[LISTED]
    if items is None:
        return
    if not isinstance(items, list):
        yield Problem(origin, "InvalidValue", f"expected a list, found {_kind(items)}", LISTED)
        return
    for index, item in enumerate(items):
        within = f"{LISTED}[{index}]"
        here = replace(origin, line=document.lines[index] if index < len(document.lines) else origin.line)
        body, version = item, ""
        if isinstance(item, dict) and "resource" in item and type_name(item) in {"", _WRAPPER}:
            body, within = item["resource"], f"{within}.resource"
            version = str(item.get("version", "")) if item.get("metadata") == REDACTED_MARK else ""
        if isinstance(body, dict):
            yield NativeDocument(place.group, body, _named(here, body), within, version)
        else:
            yield Problem(here, "InvalidValue", f'expected a mapping with "@type", found {_kind(body)}', within)


def _items(
    place: FilePlace, document: Document, value: Mapping[str, object], origin: Origin, decode_object: DecodeObject
) -> Iterator[_Found]:
    """The manifests of a list, each as if it were a document of its own."""
    items = value.get(ITEMS)
    if items is not None and not isinstance(items, list):
        yield Problem(origin, "InvalidValue", f"expected a list, found {_kind(items)}", ITEMS)
        return
    for index, item in enumerate(items or ()):
        within = f"{ITEMS}[{index}]"
        here = replace(origin, line=document.lines[index] if index < len(document.lines) else origin.line)
        if not (isinstance(item, dict) and "apiVersion" in item and "kind" in item):
            message = f'expected a manifest (with "apiVersion" and "kind"), found {_kind(item)}'
            yield Problem(here, "UnknownForm", message, within)
            continue
        found = decode_object(item, here, place.group)
        if isinstance(found, tuple):
            yield from (replace(each, field=f"{within}.{each.field}" if each.field else within) for each in found)
        else:
            yield found


def _meant(key: str) -> str:
    close = get_close_matches(key, sorted(each for each in _ENVELOPE if each.islower() == key.islower()), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _named(origin: Origin, body: Mapping[str, object]) -> Origin:
    """The origin of a resource: kind and name as far as the body tells them at a glance."""
    type_url, name = body.get("@type"), body.get("name", body.get("cluster_name", body.get("clusterName")))
    return replace(
        origin,
        api_version=type_url if isinstance(type_url, str) else "",
        kind=type_name(body).rpartition(".")[2],
        name=name if isinstance(name, str) else "",
    )


def type_name(body: Mapping[str, object]) -> str:
    """The full name of the message in `@type`, "" when there is none."""
    type_url = body.get("@type", "")
    return type_url.rpartition("/")[2] if isinstance(type_url, str) else "?"


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    # Not the value itself: it may be a key that lies in the wrong place.
    return "null" if value is None else "a string" if isinstance(value, str) else "a plain value"


def _keys(value: Mapping[str, object]) -> str:
    """A mapping by its first keys; those that don't look like names may be pieces of a secret."""
    if not value:
        return "an empty mapping"
    more = ", …" if len(value) > _MOST_KEYS_SHOWN else ""
    shown = [key if is_name(key) else "(one that is not repeated)" for key in list(value)[:_MOST_KEYS_SHOWN]]
    return f"a mapping with the keys {', '.join(shown)}{more}"
