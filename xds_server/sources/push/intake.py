"""From what an owner says to documents that are known to be right, or all that is wrong with it. Pure, and costly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from xds_server.ir.declared import Declared, EncodedDocument, NativeDocument
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem, ProblemError
from xds_server.sources.files.document import SyntaxFaultError
from xds_server.sources.files.json_reader import read_json
from xds_server.sources.push.model import InvalidError, Name, Place, Push, Said
from xds_server.wire.resource import Resource
from xds_server.wire.types import PREFIX, URL_BY_KEY, key_of, url_of

Decode = Callable[[Declared], Resource]

LONGEST_NAME = 200
"""Letters of an owner's name, a group's, and a version."""

LONGEST_LEASE = 366 * 24 * 3600.0
"""Seconds."""

MOST_PROBLEMS = 100
"""Problems of one request that are told."""

_NO_RESOURCE = frozenset({"UnknownType", "NotAResource"})
"""Reasons of `Decode` that are about a type, whatever the content."""


def check(source: str, place: Place, said: Said, *, is_patch: bool) -> None:
    """Look at all of a request but its resources.

    Raises:
        InvalidError: something is wrong.
    """
    origin = Origin(source, place.owner, namespace=place.group)
    found = [Problem(origin, "InvalidValue", text, field) for field, text in _faults(place, said, is_patch=is_patch)]
    if found:
        raise InvalidError(found[:MOST_PROBLEMS], in_resources=False)


def read(source: str, place: Place, said: Said, decode: Decode) -> Push:
    """Decode the resources of a request.

    Raises:
        InvalidError: one can't be decoded, is named twice, or is removed by the same request; or what is removed is
            of no known type.
    """
    removed = [(url_of(kind), name) for kind, name in said.remove]
    made: dict[Name, EncodedDocument] = {}
    problems = list(_unknown_types(source, place, said, decode))
    for index, resource in enumerate(said.resources):
        try:
            document = _document(source, place, index, resource)
            decoded = decode(document)
        except ProblemError as error:
            problems.append(error.problem)
            continue
        name = (decoded.type_url, decoded.name)
        if name in made:
            problems.append(_twice(document.origin, name, "stands twice in the request", f"{document.within}.name"))
            continue
        made[name] = _encoded(place.group, decoded, document)
    for index, name in enumerate(removed):
        if name in made:
            text = f"is set by the same request ({made[name].within})"
            problems.append(_twice(made[name].origin, name, text, f"remove[{index}]"))
    if problems:
        raise InvalidError(problems[:MOST_PROBLEMS], in_resources=True)
    return Push(said.version, list(made.values()), removed, said.lease, said.base)


def _faults(place: Place, said: Said, *, is_patch: bool) -> Iterator[tuple[str, str]]:
    for field, text in (("owner", place.owner), ("group", place.group), ("version", said.version)):
        if not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
            yield field, f"expected a text of 1 to {LONGEST_NAME} printable letters, found {len(text)}"
    if said.lease is not None and not (math.isfinite(said.lease) and 0 <= said.lease <= LONGEST_LEASE):
        yield "lease_s", f"expected seconds, 0 (none) to {LONGEST_LEASE:.0f}, found {said.lease:g}"
    if not is_patch and said.remove:
        yield "remove", "only PATCH removes by name; PUT removes what is not in `resources`"
    if not is_patch and said.base is not None:
        yield "base", "only PATCH builds on a version"
    for index, (kind, name) in enumerate(said.remove):
        for field, text in (("type", kind), ("name", name)):
            if not text:
                yield f"remove[{index}].{field}", "expected a text that is not empty"


def _unknown_types(source: str, place: Place, said: Said, decode: Decode) -> Iterator[Problem]:
    """What is removed and is of a type that no resource can have; such a removal would be a slip, and do nothing."""
    origin = Origin(source, place.owner, namespace=place.group)
    for index, (kind, _) in enumerate(said.remove):
        field = f"remove[{index}].type"
        if kind in URL_BY_KEY:
            continue
        if not kind.startswith(PREFIX):
            text = f"found {kind[:LONGEST_NAME]!r}, expected one of {', '.join(URL_BY_KEY)} or a type URL ({PREFIX}…)"
            yield Problem(origin, "UnknownType", text, field)
            continue
        try:
            decode(EncodedDocument(place.group, kind, "", b"", origin))  # it has no name at least
        except ProblemError as error:
            if error.problem.reason in _NO_RESOURCE:
                yield replace(error.problem, field=field)


def _document(source: str, place: Place, index: int, resource: str | tuple[str, bytes]) -> Declared:
    within = f"resources[{index}]"
    origin = Origin(source, place.owner, index + 1, namespace=place.group)
    if isinstance(resource, tuple):
        type_url, body = resource
        return EncodedDocument(place.group, type_url, "", body, origin, within)
    try:
        value = next((document.value for document in read_json(resource)), None)
    except SyntaxFaultError as fault:
        raise ProblemError(Problem(origin, "InvalidSyntax", fault.message, within)) from None
    if not isinstance(value, dict):
        raise ProblemError(Problem(origin, "InvalidValue", 'expected an object with "@type"', within))
    return NativeDocument(place.group, value, origin, within)


def _encoded(group: str, made: Resource, document: Declared) -> EncodedDocument:
    kind = made.type_url.rpartition(".")[2]
    before = document.origin
    origin = Origin(before.source, before.path, before.document, 0, made.type_url, kind, before.namespace, made.name)
    return EncodedDocument(group, made.type_url, made.name, made.body, origin, document.within)


def _twice(origin: Origin, name: Name, what: str, field: str) -> Problem:
    return Problem(origin, "DuplicateName", f"{key_of(name[0])} {name[1]!r} {what}", field)
