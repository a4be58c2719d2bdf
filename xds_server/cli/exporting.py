"""`tidegate export`: has the server make an archive, and writes it to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from xds_server.cli.client import Access, AdminError, Client
from xds_server.cli.text import clean


def export(admin: Access, group: str, version: str | None, output: Path | None) -> int:
    """Write the archive of a version and tell where. Gives the exit code."""
    try:
        client = Client(admin)
        version = version or str(json.loads(client.get("v1", "groups", group))["seq"])
        body = client.get("v1", "export", query={"group": group, "version": version})
        file = output or Path(f"tidegate-{group.replace('/', '_')}-{version}.tar.gz")
    except AdminError as error:
        print(clean(f"tidegate: {error}"), file=sys.stderr)
        return 1
    try:
        file.write_bytes(body)
    except OSError as error:
        print(clean(f"tidegate: can't write {file}: {error.strerror or error}"), file=sys.stderr)
        return 1
    print(f"{file}: {len(body)} bytes; look into it before you hand it on")
    return 0
