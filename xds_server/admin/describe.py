"""Makes the OpenAPI document and the index page from the table of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from http import HTTPStatus
from typing import Any

import msgspec
from apispec import APISpec
from msgspec import Struct

from xds_server.admin.operations import Operation, Parameter
from xds_server.admin.rights import OPEN, READS
from xds_server.admin.shapes import Problem

API_VERSION = "1.0.0"
"""Of the shapes: the middle number rises with what is added; what is there stays."""

_SCHEME = "bearer"
_REF = "#/components/schemas/{name}"


def openapi(operations: Sequence[Operation], asks: Callable[[str, str], bool]) -> bytes:
    """The document (OpenAPI 3.1) as JSON; the schemas are msgspec's of the shapes.

    `asks` tells whether this server asks for a token, by method and path.
    """
    spec = APISpec(
        title="Tidegate admin API",
        version=API_VERSION,
        openapi_version="3.1.0",
        info={"description": "What Tidegate serves, to whom, and what became of it. Errors are RFC 9457 problems."},
    )
    shapes = [each.answer for each in operations if not isinstance(each.answer, str)]
    shapes += [each.body for each in operations if each.body is not None]
    _, components = msgspec.json.schema_components([*shapes, Problem], ref_template=_REF)
    for name, schema in components.items():
        spec.components.schema(name, schema)
    spec.components.security_scheme(
        _SCHEME, {"type": "http", "scheme": "bearer", "description": "A reader's or an operator's token."}
    )
    for operation in operations:
        described = {
            **_describe(operation),
            "security": [{_SCHEME: []}] if asks(operation.method, operation.path) else [],
        }
        spec.path(operation.path, operations={operation.method.lower(): described})
    return msgspec.json.encode(spec.to_dict())


def index(operations: Sequence[Operation]) -> str:
    """The page at `/`: every path with its summary; those without parameters are links."""
    rows = "\n".join(f"<li>{_link(each)}: {escape(each.summary)}</li>" for each in operations)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Tidegate</title>\n'
        f"<h1>Tidegate</h1>\n<ul>\n{rows}\n</ul>\n</html>\n"
    )


def _link(operation: Operation) -> str:
    path = escape(operation.path)
    if operation.method != "GET":
        return f"{operation.method} {path}"
    return path if "{" in path else f'<a href="{path}">{path}</a>'


def _describe(operation: Operation) -> dict[str, Any]:
    name: str = operation.handler.__name__
    described: dict[str, Any] = {
        "operationId": name,
        "summary": operation.summary,
        "responses": {"200": _response(operation.answer)},
    }
    refusals = (*operation.refusals, *_always(operation))
    described["responses"] |= {str(status.value): _problem(status) for status in sorted(refusals)}
    if operation.parameters:
        described["parameters"] = [_parameter(each) for each in operation.parameters]
    if operation.body is not None:
        schema = {"$ref": _REF.format(name=operation.body.__name__)}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described


def _always(operation: Operation) -> set[HTTPStatus]:
    """What may be answered whatever the handler does."""
    always = {HTTPStatus.MISDIRECTED_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR}
    if operation.path not in OPEN:
        always.add(HTTPStatus.UNAUTHORIZED)
    if operation.method not in READS:
        always |= {HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
    return always - set(operation.refusals)


def _response(answer: type[Struct] | str) -> dict[str, Any]:
    if isinstance(answer, str):
        schema = {"type": "object"} if answer == "application/json" else {"type": "string"}
        return {"description": "OK", "content": {answer: {"schema": schema}}}
    schema = {"$ref": _REF.format(name=answer.__name__)}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _problem(status: HTTPStatus) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=Problem.__name__)}
    return {"description": status.phrase, "content": {"application/problem+json": {"schema": schema}}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if parameter.most is not None:
        schema = {"type": "integer", "minimum": parameter.least, "maximum": parameter.most}
    if parameter.values:
        schema["enum"] = list(parameter.values)
    elif parameter.required and parameter.most is None:
        schema["minLength"] = 1
    return {
        "name": parameter.name,
        "in": parameter.within,
        "description": parameter.help,
        "required": parameter.required,
        "schema": schema,
    }
