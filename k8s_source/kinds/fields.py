r"""Types of single fields that kinds share: what they accept, and how that is said to people.

A pattern ends in `\Z`, since Python's `$` would let a line break follow.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

EXPECTED = "expected"
"""The key in the `extra` of a `Meta` under which stands what the field accepts, for people."""

_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NUMBER = r"[0-9]{1,5}(\.[0-9]{1,9})?"

Label = Annotated[
    str,
    Meta(
        pattern=rf"^{_LABEL}\Z",
        max_length=63,
        extra={EXPECTED: "a name of lower-case letters, digits and -, 63 at most (a DNS label)"},
    ),
]
"""A DNS label (RFC 1123): the name of a namespace, of a Service."""

Subdomain = Annotated[
    str,
    Meta(
        pattern=rf"^{_LABEL}(\.{_LABEL})*\Z",
        max_length=253,
        extra={EXPECTED: "a name of lower-case letters, digits, - and ., 253 at most (a DNS subdomain)"},
    ),
]
"""A DNS subdomain (RFC 1123): the name of most objects."""

Port = Annotated[int, Meta(ge=1, le=65535, extra={EXPECTED: "a port from 1 to 65535"})]
"""The number of a port."""

PortName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9-]*[a-z][a-z0-9-]*\Z",
        max_length=63,
        extra={EXPECTED: "the name of a port (lower-case letters, digits and -)"},
    ),
]
"""The name of a Service's port; it holds a letter, so a number in quotes is none."""

Duration = Annotated[
    str,
    Meta(
        pattern=rf"^(0|({_NUMBER}(h|m|s|ms|us))+)\Z",
        max_length=40,
        extra={EXPECTED: "a duration such as 500ms, 30s or 1m30s"},
    ),
]
"""A duration as Go and Kubernetes write it; never negative. `seconds` reads it."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_PART = re.compile(rf"({_NUMBER})(h|ms|m|s|us)")


def seconds(duration: str) -> float:
    """The seconds of a `Duration`."""
    return sum(float(match[1]) * _UNITS[match[3]] for match in _PART.finditer(duration))
