"""From native xDS documents (proto3 JSON with `@type`, or bytes) to resources, of any type of Envoy's v3 API."""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.message import Message

from xds_server.ir.declared import Declared, EncodedDocument, NativeDocument
from xds_server.ir.problem import Problem, ProblemError
from xds_server.translate.encoded import read_bytes
from xds_server.translate.fault import MERGE_KEY, PARSE_ERRORS, Fault, find_fault, find_faults, join, unknown_type
from xds_server.translate.messages import name_field, pack
from xds_server.translate.protos import class_of, full_name, type_of
from xds_server.translate.strict import may_be_lax
from xds_server.wire.resource import Resource

_MOST_FAULTS = 50
"""Faults of one document that are told."""


def decode(document: Declared) -> Resource:
    """Make the resource that a document declares.

    Raises:
        ProblemError: The type is not known, a field is unknown or has a wrong value, or the name is missing.
    """
    message = _from_bytes(document) if isinstance(document, EncodedDocument) else _from_json(document)
    version = document.version if isinstance(document, NativeDocument) else ""
    return pack(message, _name(document, message), (document.origin,), version)


def _from_bytes(document: EncodedDocument) -> Message:
    found = read_bytes(document.type_url, document.body)
    if isinstance(found, Fault):
        raise _error(document, found)
    return found


def _from_json(document: NativeDocument) -> Message:
    fields = dict(document.body)
    type_url = fields.pop("@type", None)
    if not isinstance(type_url, str):
        if "<<" in fields:
            raise _error(document, Fault(join("", "<<"), "UnknownField", MERGE_KEY))
        raise _error(document, Fault("@type", "MissingType", "expected the type of the resource, as a string"))
    name = full_name(type_url)
    cls = class_of(name)
    if cls is None:
        raise _error(document, Fault("@type", "UnknownType", unknown_type(name)))
    message = cls()
    try:
        json_format.ParseDict(fields, message)
    except PARSE_ERRORS as error:
        raise _error(document, find_fault(fields, type_of(message)) or _plain(error)) from None
    if may_be_lax(fields) and (fault := find_fault(fields, type_of(message))) is not None:
        raise _error(document, fault)
    return message


def faults(document: NativeDocument) -> list[Problem]:
    """All that `decode` would stumble over in the fields of a document, up to a bound; empty when that is no field."""
    cls = class_of(full_name(str(document.body.get("@type", ""))))
    if cls is None:
        return []
    fields = {key: value for key, value in document.body.items() if key != "@type"}
    return [_error(document, fault).problem for fault in find_faults(fields, type_of(cls()), _MOST_FAULTS)]


def _name(document: Declared, message: Message) -> str:
    field = name_field(type_of(message))
    if field is None:
        text = f"{message.DESCRIPTOR.full_name} has no name, so it can't be served as a resource of its own"
        raise _error(document, Fault("@type", "NotAResource", text))
    name: str = getattr(message, field)
    if not name:
        raise _error(document, Fault(field, "MissingName", "expected the name of the resource, found none"))
    return name


def _error(document: Declared, fault: Fault) -> ProblemError:
    dot = "." if document.within and fault.path and not fault.path.startswith("[") else ""
    path = f"{document.within}{dot}{fault.path}"
    return ProblemError(Problem(document.origin, fault.reason, _printable(fault.message), _printable(path)))


def _printable(text: str) -> str:
    """A JSON string may hold half a surrogate pair, which can be quoted back only in its escaped form."""
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(error: Exception) -> Fault:
    """What is left to say when the walk finds no fault. Only the kind of error: its text may quote a secret."""
    return Fault("", "InvalidValue", f"the document is no valid proto3 JSON of its type ({type(error).__name__})")
