"""Which settings are not what they were at the last start: keys only, since values may be secret."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

_FILE = "settings.json"


def changed_settings(folder: Path, settings: Mapping[str, object]) -> list[str]:
    """The keys whose values differ from those at the call before; none at the first call. Remembers them for the next.

    `folder` is the state directory, `settings` the whole configuration as JSON values. Values are kept as digests with
    a key of their own. A file that can't be read counts as none.

    Raises:
        OSError: The directory can't be written.
    """
    path = folder / _FILE
    before = _read(path)
    salt = bytes.fromhex(before.pop("", "")) or secrets.token_bytes(16)
    now = {key: _digest(salt, value) for key, value in _flat(settings, "")}
    draft = path.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps({"": salt.hex(), **now}))
    draft.replace(path)
    if not before:
        return []
    return sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_bytes())
        bytes.fromhex(found[""])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(key): str(value) for key, value in found.items()}


def _flat(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _flat(below, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _digest(salt: bytes, value: object) -> str:
    return blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=16, key=salt).hexdigest()
