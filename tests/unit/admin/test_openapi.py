"""The OpenAPI document: valid, complete, and true to the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aiohttp import web
from openapi_spec_validator import validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

from tests.unit.admin.client import Client
from xds_server.admin.operations import OPERATIONS

DOCS = Path(__file__).parents[3] / "docs" / "admin-api.md"
VALUES = {"group": "default", "version": "1", "node": "n2", "namespace": "shop", "name": "edge"}


async def test_the_document_is_valid(client: Client) -> None:
    try:
        validate(await client.get("/openapi.json"))
    except OpenAPIValidationError as error:
        raise AssertionError(str(error)) from error


async def test_every_path_is_in_it(client: Client) -> None:
    document = await client.get("/openapi.json")
    app = client.http.app
    assert isinstance(app, web.Application)
    assert {resource.canonical for resource in app.router.resources()} == set(document["paths"])


async def test_answers_have_exactly_the_fields_of_their_schemas(client: Client) -> None:
    document = await client.get("/openapi.json")
    schemas = document["components"]["schemas"]
    checked = 0
    for path, item in document["paths"].items():
        if "get" not in item:
            continue
        schema = item["get"]["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
        if "$ref" not in schema:
            continue
        query = "?group=default&type=cds&name=one" if path == "/v1/explain" else ""
        check(await client.get(path.format(**VALUES) + query), schema, schemas, path)
        checked += 1
    assert checked == 18


def check(value: Any, schema: dict[str, Any], schemas: dict[str, Any], at: str) -> None:
    """Compare the fields of a value with its schema, all the way down."""
    if "anyOf" in schema:
        if value is None:
            assert {"type": "null"} in schema["anyOf"], at
            return
        schema = next(each for each in schema["anyOf"] if each != {"type": "null"})
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
        assert value.keys() == schema["properties"].keys(), at
        for name, each in schema["properties"].items():
            check(value[name], each, schemas, f"{at}.{name}")
    elif schema.get("type") == "array":
        for each in value:
            check(each, schema["items"], schemas, f"{at}[]")
    elif isinstance(schema.get("additionalProperties"), dict):
        for key, each in value.items():
            check(each, schema["additionalProperties"], schemas, f"{at}.{key}")


async def test_the_index_lists_every_path(client: Client) -> None:
    document = await client.get("/openapi.json")
    async with client.http.get("/") as response:
        assert response.content_type == "text/html"
        page = await response.text()
    assert all(path in page for path in document["paths"])


def test_the_page_has_every_path() -> None:
    page = DOCS.read_text(encoding="utf-8")
    missing = [each.path for each in OPERATIONS if f"| `{each.path}" not in page and each.path != "/"]
    assert not missing
