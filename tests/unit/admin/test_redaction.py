"""Private keys never leave by this API."""

from __future__ import annotations

from tests.unit.admin.client import Client, text_of
from tests.unit.admin.documents import KEY
from xds_server.admin.operations import OPERATIONS

VALUES = {"group": "default", "version": "1", "node": "n1", "owner": "billing", "namespace": "shop", "name": "edge"}
QUERIES = ("", "?group=default&type=sds&name=cert", "?from=1&to=2", "?from=2&to=1", "?to=1")


async def test_no_answer_has_a_private_key(client: Client) -> None:
    seen = 0
    for operation in OPERATIONS:
        if operation.path == "/v1/events":
            continue
        for query in QUERIES:
            async with client.http.get(operation.path.format(**VALUES) + query) as response:
                text = await text_of(response)
            assert "PRIVATE KEY" not in text
            assert KEY not in text
            seen += "cert" in text
    assert seen, "the secret must be among the answers, without its key"


async def test_a_secret_is_shown_without_its_key(client: Client) -> None:
    content = await client.get("/v1/groups/default/versions/1")
    secret = next(each for each in content["resources"] if each["type"] == "sds")
    assert "redacted" in str(secret["resource"]["tls_certificate"]["private_key"])
