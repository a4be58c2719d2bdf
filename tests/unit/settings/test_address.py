"""Addresses: what is one, what is not, and which are loopback."""

from __future__ import annotations

import pytest

from xds_server.settings import Address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:18000", "127.0.0.1", 18000),
        ("0.0.0.0:0", "0.0.0.0", 0),
        ("[::1]:18000", "::1", 18000),
        ("[::]:65535", "::", 65535),
        ("localhost:1", "localhost", 1),
        ("tidegate-xds.infra.svc.cluster.local:18000", "tidegate-xds.infra.svc.cluster.local", 18000),
    ],
)
def test_host_and_port(text: str, host: str, port: int) -> None:
    address = Address(text)
    assert (address.host, address.port) == (host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1",
        ":18000",
        "18000",
        "::1:18000",
        "[::1]",
        "[127.0.0.1]:1",
        "[zz::1]:1",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:http",
        "127.0.0.300:1",
        "1.2.3:1",
        "a b:1",
        "http://a:1",
        "a/b:1",
        "-a:1",
        "a..b:1",
        "127.0.0.1:1 ",
        "127.0.0.1:1\n",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="expected an address as host:port"):
        Address(text)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:1", True),
        ("127.8.9.1:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("example.org:1", False),
    ],
)
def test_loopback(text: str, *, loopback: bool) -> None:
    assert Address(text).is_loopback is loopback
