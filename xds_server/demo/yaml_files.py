"""Write YAML as text, and files so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


def to_yaml(*documents: Any) -> str:
    """Render `documents` as one YAML stream."""
    text = io.StringIO()
    writer = YAML(typ="safe")
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    writer.dump_all(documents, text)
    return text.getvalue()


def replace_file(path: Path, text: str) -> None:
    """Put `text` at `path` by a rename. The temporary file's ending makes the files source ignore it."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text)
    temporary.replace(path)


def write_documents(path: Path, documents: Iterable[Any]) -> None:
    """Replace `path` by a file that holds `documents`."""
    replace_file(path, to_yaml(*documents))
