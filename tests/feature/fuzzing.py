"""Runs schemathesis, as its own process, over the admin API of a server with something to ask for in it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.conformance.client import SLACK
from tests.conformance.documents import World, marked
from tests.conformance.server import Restartable, restartable
from tests.conformance.wire import Variant
from tests.feature.shop import backend, gateway
from xds_server.admin.operations import OPERATIONS
from xds_server.demo.yaml_files import write_documents

TOKENS = {"reader": "planted-reader-0123456789", "operator": "planted-operator-0123456789"}
GROUP, NODE, OWNER = "edge", "n1", "billing"

_CONFIGURATION = """
[cache]
enabled = false

[dictionaries]
groups = { values = ["edge", "default", "nobody"] }
versions = { values = ["1", "2", "999"] }
nodes = { values = ["n1", "n2"] }
owners = { values = ["billing", "shop"] }
types = { values = ["cds", "rds", "type.googleapis.com/envoy.config.cluster.v3.Cluster"] }
names = { values = ["a", "b"] }
namespaces = { values = ["shop", "default"] }
gateways = { values = ["edge", "nobody"] }

[parameters]
"path.group" = { dictionary = "groups", probability = 0.7 }
"query.group" = { dictionary = "groups", probability = 0.7 }
"path.version" = { dictionary = "versions", probability = 0.7 }
"query.version" = { dictionary = "versions", probability = 0.7 }
"query.from" = { dictionary = "versions", probability = 0.7 }
"query.to" = { dictionary = "versions", probability = 0.7 }
"path.node" = { dictionary = "nodes", probability = 0.7 }
"path.owner" = { dictionary = "owners", probability = 0.7 }
"query.type" = { dictionary = "types", probability = 0.7 }
"path.namespace" = { dictionary = "namespaces", probability = 0.7 }
"path.name" = { dictionary = "gateways", probability = 0.7 }
"query.name" = { dictionary = "names", probability = 0.7 }

# What else a push must be (printable letters, messages that Envoy knows) no schema can say.
[[operations]]
include-path = "/v1/push/{owner}/{group}"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422, 429]

# Which routes there are, and that a time is to come, no schema can say.
[[operations]]
include-path = "/v1/switches"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403]
"""


@asynccontextmanager
async def served(folder: Path, *roles: str) -> AsyncIterator[Restartable]:
    """A server with files, a gateway, a push, a node, two versions, a state directory, and the tokens of these roles set."""
    for role in roles:
        (folder / role).write_text(TOKENS[role])
    settings = {
        "admin": {"tokens": {role: str(folder / role) for role in roles}},
        "state_dir": str(folder / "state"),
        "sources": [{"kind": "files", "path": str(folder / "files")}, {"kind": "push"}],
    }
    (folder / "files").mkdir()
    World(folder / "files", GROUP).write("a", marked("cds", "a", 1))
    write_documents(folder / "files" / "gateway.yaml", [gateway(), *backend("orders", ["10.0.0.1"])])
    headers = bearer("operator") if "operator" in roles else {}
    async with restartable(folder, settings) as server, aiohttp.ClientSession(headers=headers) as http:
        body = {"version": "1", "resources": [marked("cds", "b", 1), marked("rds", "b", 1)]}
        async with http.put(f"{server.plane.admin}/v1/push/{OWNER}/{GROUP}", json=body) as response:
            assert response.status == 200, await response.text()
        async with server.clients() as clients:
            stream = await clients.stream(Variant.DELTA, World(server.files, GROUP), id=NODE)
            stream.ask("cds", "*")
            await stream.holding("cds", {"a": 1, "b": 1})
            yield server


def bearer(role: str) -> dict[str, str]:
    """The header of a role, none of ""."""
    return {"Authorization": f"Bearer {TOKENS[role]}"} if role else {}


async def fuzz(server: Restartable, role: str, examples: int) -> None:
    """Try every operation but the endless one, `examples` times and more; fail with what schemathesis has found."""
    folder = server.files.parent
    config, document = folder / f"fuzz-{role}.toml", folder / f"openapi-{role}.json"
    config.write_text(_CONFIGURATION)
    async with (
        aiohttp.ClientSession(server.plane.admin, headers=bearer(role)) as http,
        http.get("/openapi.json") as response,
    ):
        document.write_bytes(await response.read())
    # One worker: threads that parse Python at the same time break each other in CPython 3.11 (gh-106905), as hypothesis does.
    found = await _run(
        *("--config-file", str(config), "run", str(document), "--url", server.plane.admin, "--no-color"),
        *("--exclude-path", "/v1/events", "--checks", "all", "--warnings", "off", "--seed", "5"),
        *("--max-examples", str(examples), "--continue-on-failure"),
        *("--max-response-time", str(3 * SLACK), "--request-timeout", str(10 * SLACK)),
        *[part for name, value in bearer(role).items() for part in ("--header", f"{name}: {value}")],
        folder=folder,
    )
    assert found[0] == 0, found[1]
    total = len(OPERATIONS)
    assert f"{total - 1} selected / {total} total" in found[1], found[1]


async def _run(*arguments: str, folder: Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", *arguments),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode()
