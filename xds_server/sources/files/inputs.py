"""What the files sources read right now, by file: for archives that show a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from xds_server.ir.declared import Declared
from xds_server.sources.base import DecodeObject
from xds_server.sources.files.reader import load


def inputs(
    paths: Sequence[Path], show: Callable[[Declared], object], decode_object: DecodeObject
) -> list[dict[str, object]]:
    """Each file below these paths: its documents as `show` gives them, which objects it has, and its problems.

    It reads, so it blocks.
    """
    return [
        {
            "source": str(path),
            "file": unit.key,
            "broken": unit.broken,
            "documents": [
                {
                    "group": each.group,
                    "document": each.origin.document,
                    "line": each.origin.line,
                    "within": each.within,
                    "body": show(each),
                }
                for each in unit.documents
            ],
            "objects": [
                {"object": str(each.key), "document": each.origin.document, "line": each.origin.line}
                for each in unit.objects
            ],
            "problems": [str(each) for each in unit.problems],
        }
        for path in paths
        for unit in load(path, decode_object=decode_object)
    ]
