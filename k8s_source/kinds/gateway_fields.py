"""Types of the single fields of a DynamicGateway, and what paths must look like."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

import re2
from msgspec import Meta

from k8s_source.kinds.fields import EXPECTED, Label
from k8s_source.kinds.paths import normalized
from k8s_source.kinds.words import found

LARGEST_LAG = 2**63 - 1
"""Offsets of Kafka are 64-bit numbers."""

LONGEST_PATH = 1024
LONGEST_REGEX = 4096
LARGEST_PROGRAM = 100
"""The size of a compiled expression above which Envoy refuses it, with all routes beside it (its runtime key
`re2.max_program_size.error_level`; measured with Envoy 1.40)."""

_HOST_LABEL = "[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?"
_PATH = re.compile(r"/[!-\"$->@-~\x80-\ud7ff\ue000-\U0010ffff]*")
"""A slash, then no control characters, no spaces, and neither # nor ?, which end a path."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

RouteName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]{0,251}[A-Za-z0-9])?\Z",
        max_length=253,
        extra={EXPECTED: "a name of letters, digits, -, _ and ., 253 at most"},
    ),
]
ServiceName = Annotated[
    Label, Meta(extra={EXPECTED: "the name of a Service in the gateway's namespace (lower-case letters, digits and -)"})
]
Host = Annotated[
    str,
    Meta(
        pattern=rf"^(\*|(\*\.)?{_HOST_LABEL}(\.{_HOST_LABEL})*)\Z",
        max_length=253,
        extra={EXPECTED: "a domain without a port, such as shop.example.com, *.example.com or *"},
    ),
]
Text = Annotated[str, Meta(min_length=1, max_length=4096, extra={EXPECTED: "a text that is not empty"})]
Topic = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,249}\Z",
        max_length=249,
        extra={EXPECTED: "the name of a Kafka topic (letters, digits, ., _ and -, 249 at most)"},
    ),
]
Lag = Annotated[int, Meta(ge=0, le=LARGEST_LAG, extra={EXPECTED: "a whole number of messages, 0 or more"})]
Amount = Annotated[float, Meta(ge=0, le=1e300, extra={EXPECTED: "a number, 0 or more"})]
Qps = Annotated[float, Meta(gt=0, le=1e9, extra={EXPECTED: "requests a second, more than 0 and at most 1000000000"})]
Samples = Annotated[int, Meta(ge=1, le=1000, extra={EXPECTED: "a whole number from 1 to 1000"})]
Retries = Annotated[int, Meta(ge=0, le=100, extra={EXPECTED: "a whole number from 0 to 100"})]
ListenerPort = Annotated[
    int, Meta(ge=0, le=65535, extra={EXPECTED: "a port from 1 to 65535, or 0 for any that is free"})
]


class PathType(StrEnum):
    """How `path` is matched."""

    PREFIX = "Prefix"
    EXACT = "Exact"
    REGEX = "Regex"


class NoCommitPolicy(StrEnum):
    """How a partition counts for which the group has committed nothing."""

    EARLIEST = "earliest"
    LATEST = "latest"


class ListenerProtocol(StrEnum):
    """What a listener speaks."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"


def path_error(kind: PathType, path: str) -> str:
    """What is wrong with a path, "" for nothing."""
    if kind is PathType.REGEX:
        return _regex_error(path)
    if not path.startswith("/"):
        return f"expected a path that begins with / (pathType {kind}), found {found(path, secret=False)}"
    if len(path) > LONGEST_PATH:
        return f"expected at most {LONGEST_PATH} letters, found {len(path)}"
    if not _PATH.fullmatch(path):
        return "expected a path without ?, #, spaces and control characters; a query is no part of it"
    if "%00" in path:
        return "no request matches %00: Envoy refuses it"
    if (reached := normalized(path)) != path:
        return f"no request matches it: Envoy compares normalized paths; write {reached!r}"
    return ""


@lru_cache(maxsize=4096)  # an object is decoded anew at each change of its file
def _regex_error(regex: str) -> str:
    if not regex or len(regex) > LONGEST_REGEX:
        return f"expected a regular expression of 1 to {LONGEST_REGEX} letters, found {len(regex)}"
    if _CONTROL.search(regex):
        return "expected a regular expression without control characters"
    options = re2.Options()
    options.log_errors = False
    # Envoy takes expressions and paths for bytes (measured with 1.40); of UTF-8 the programs are larger.
    options.encoding = re2.Options.Encoding.LATIN1
    try:
        size = re2.compile(regex.encode(), options).programsize
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        return f"expected a regular expression in the syntax of RE2: {reason}"
    if size > LARGEST_PROGRAM:
        return f"the regular expression is too large: its program has size {size}, and Envoy takes {LARGEST_PROGRAM}"
    return ""
