"""`tidegate webhook`: options that do not go together are told, and nothing is served."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from tests.unit.cli.conftest import Command
from xds_server.cli.webhook import Options, _place, _terms


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cert", "a"], "--cert and --key go together"),
        (["--ca", "a"], "--ca is the authority of --cert"),
        (["--url", "http://a:1"], "--url: expected https://HOST:PORT, found 'http://a:1'"),
        (["--url", "https://a:1/path"], "--url: expected https://HOST:PORT"),
        (["--url", "https://a:port"], "--url: expected https://HOST:PORT"),
        (["--address", "nowhere"], "--address: expected an address as host:port"),
        (["--certificate-life", "90d"], "--certificate-life: expected a duration such as 2160h, found '90d'"),
        (["--certificate-life", "5s"], "--certificate-life: expected 10s to 87600h, found 5s"),
    ],
)
def test_what_does_not_fit_is_told(tidegate: Command, arguments: list[str], words: str) -> None:
    assert words in tidegate("webhook", *arguments, code=1).stderr


def test_an_address_that_is_taken_is_told(tidegate: Command) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        told = tidegate("webhook", "--address", address, code=1).stderr
    assert f"tidegate: --address {address}: " in told
    assert "in use" in told


@pytest.mark.parametrize(
    ("url", "names"),
    [
        (None, ("web.shop.svc", "web.shop")),
        ("https://10.0.0.1:9443", ("10.0.0.1",)),
        ("https://[::1]:9443/", ("::1",)),
        ("https://webhook.example.com", ("webhook.example.com",)),
    ],
)
def test_the_certificate_is_for_the_name_that_the_api_server_asks(url: str | None, names: tuple[str, ...]) -> None:
    options = Options("127.0.0.1:0", None, None, None, "web", "shop", "web", url, "2160h", None, "")
    place = _place(options)
    terms = _terms(options, place)
    assert terms.names == names
    assert terms.life == timedelta(days=90)
    assert terms.settle == timedelta(minutes=5)
    config = place.client_config("/convert", b"x")
    service = {"namespace": "shop", "name": "web", "path": "/convert", "port": 443}
    assert config.get("url", "") == (url.rstrip("/") + "/convert" if url else "")
    assert config.get("service") == (None if url else service)
