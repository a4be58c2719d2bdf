"""What Envoy makes of the path of a request before it looks for a route: only such paths can be matched."""

from __future__ import annotations

import re
from urllib.parse import quote

_KEPT = "!$%&'()*+,/:;=@[]_-.~"
"""Besides letters and digits what stays as it is; all else is written %XX (measured with Envoy 1.40)."""

_PLAIN = re.compile("%(2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9Aa]|5[Ff]|6[1-9A-Fa-f]|7[0-9Aa]|7[Ee])")
"""A letter, a digit or one of `-._~` that is written %XX."""

_SLASHES = re.compile("/{2,}")


def normalized(path: str) -> str:
    """The path as Envoy compares it (`normalize_path`, `merge_slashes`).

    Characters that need not be escaped are not, others are; `.` and `..` are resolved, and slashes in a row are one. A
    client writes letters outside ASCII as %XX of UTF-8.
    """
    text = _PLAIN.sub(lambda found: chr(int(found[1], 16)), path).replace("\\", "/")
    _, *segments = quote(text, safe=_KEPT).split("/")
    kept: list[str] = []
    for segment in segments:
        name = segment.partition(";")[0]
        if name == "..":
            del kept[-1:]
        elif name != ".":
            kept.append(segment)
    if segments[-1].partition(";")[0] in {".", ".."}:
        kept.append("")
    return _SLASHES.sub("/", f"/{'/'.join(kept)}")
