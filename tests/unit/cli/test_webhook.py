"""`tidegate webhook`: options that do not go together are told, and nothing is served."""

from __future__ import annotations

import socket

import pytest

from tests.unit.cli.conftest import Command


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
