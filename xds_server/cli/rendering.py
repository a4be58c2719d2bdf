"""`tidegate render`: the resources that would be served, as one JSON or YAML document."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruamel.yaml import YAML

from xds_server.cli.archive import ArchiveError, unpacked
from xds_server.cli.checking import report, summary
from xds_server.cli.inputs import read
from xds_server.cli.text import clean
from xds_server.snapshot.snapshot import Snapshot
from xds_server.translate.render import to_json
from xds_server.wire.types import key_of


def render(paths: Sequence[Path], group: str | None, form: str) -> int:
    """Print what would be served; what is wrong goes to standard error. Gives the exit code."""
    try:
        with unpacked(paths) as folders:
            return _render(folders, group, form)
    except ArchiveError as error:
        print(clean(f"tidegate: {error}"), file=sys.stderr)
        return 1


def _render(paths: Sequence[Path], group: str | None, form: str) -> int:
    inputs = read(paths)
    if inputs.problems:
        report(inputs, sys.stderr)
        print(summary(inputs), file=sys.stderr)
    if group is not None and group not in inputs.groups:
        known = ", ".join(sorted(inputs.groups)) or "none"
        print(f"tidegate: nothing is declared for group {group!r}; groups: {known}", file=sys.stderr)
        return 1
    chosen = sorted(inputs.groups) if group is None else [group]
    _write({"groups": [_rendered(inputs.groups[name]) for name in chosen]}, form)
    return 1 if inputs.problems else 0


def _rendered(snapshot: Snapshot) -> dict[str, object]:
    """A group in the form of the admin API's `/v1/groups/{group}/versions/{version}`, without origins."""
    resources = [
        {
            "type": key_of(resource.type_url),
            "name": resource.name,
            "version": resource.version,
            "resource": to_json(resource),
        }
        for url in sorted(snapshot.types, key=key_of)
        for resource in sorted(snapshot.types[url], key=lambda each: each.name)
    ]
    return {"group": snapshot.group, "version": snapshot.version, "resources": resources}


def _write(document: Mapping[str, object], form: str) -> None:
    if form == "json":
        json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        yaml = YAML(typ="safe", pure=False)
        yaml.default_flow_style = False
        yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
        yaml.dump(document, sys.stdout)
