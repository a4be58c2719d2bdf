"""IP addresses as texts: whether a text is one, and the one way to write it."""

from __future__ import annotations

import socket

FAMILIES = {"IPv4": socket.AF_INET, "IPv6": socket.AF_INET6}
"""The families by the names that Kubernetes has for them."""


def canonical(address: str, family: str) -> str | None:
    """An address of a family (`IPv4`, `IPv6`) in its shortest form; None where the text is none."""
    number = FAMILIES[family]
    try:
        return socket.inet_ntop(number, socket.inet_pton(number, address))
    except (OSError, ValueError):  # ValueError: a text that is no C string
        return None


def is_address(text: str) -> bool:
    """Whether a text is an address of either family."""
    return any(canonical(text, family) is not None for family in FAMILIES)
