"""Addresses as `host:port`, with IPv6 in brackets (`[::1]:18000`; RFC 3986, section 3.2.2)."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

EXPECTED = "an address as host:port, such as 127.0.0.1:18000 or [::1]:18000"
MAX_PORT = 65535

_SPLIT = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>[0-9]{1,5})")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")


class Address(str):
    """Where to listen or whom to tell: `host` (a name or an IP address, without brackets) and `port`.

    It is the text itself, so it prints and compares as what was written. Port 0 means any free port.
    """

    __slots__ = ("host", "port")
    host: str
    port: int

    def __new__(cls, text: str) -> Self:
        """Take `host:port` apart.

        Raises:
            ValueError: The text is no such thing; the error says what was expected.
        """
        parts = _parse(text)
        self = super().__new__(cls, text)
        self.host = parts.host
        self.port = parts.port
        return self

    @property
    def is_loopback(self) -> bool:
        """True when only this machine can reach it: 127.0.0.0/8, `::1` or `localhost`."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic make one from a string."""
        return core_schema.no_info_plain_validator_function(_validate)


class _Parts(NamedTuple):
    host: str
    port: int


def _parse(text: str) -> _Parts:
    match = _SPLIT.fullmatch(text)
    if match is None or int(match["port"]) > MAX_PORT:
        raise ValueError(f"expected {EXPECTED}")
    host = match["v6"] or match["host"]
    if not (_is_ip(host, v6=match["v6"] is not None) or (match["v6"] is None and _is_name(host))):
        raise ValueError(f"expected {EXPECTED}")
    return _Parts(host, int(match["port"]))


def _is_ip(host: str, *, v6: bool) -> bool:
    try:
        return isinstance(ip_address(host), IPv6Address) is v6
    except ValueError:
        return False


def _is_name(host: str) -> bool:
    """A host name by its letters (RFC 1123), not one that was meant to be an IPv4 address."""
    labels = host.rstrip(".").split(".")
    return all(_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()


def _validate(value: object) -> Address:
    try:
        if isinstance(value, str):
            return Address(value)
    except ValueError:
        pass
    raise PydanticCustomError("expected", EXPECTED)
