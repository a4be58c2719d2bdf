"""The section `observers.prometheus`: the address, and how to log in."""

from __future__ import annotations

import pytest

from tests.unit.settings.cases import Faults, Load
from xds_server.settings.observers import Prometheus

AT = "tidegate.yaml:1: observers.prometheus"


def section(keys: str) -> str:
    return f"observers: {{prometheus: {{{keys}}}}}"


def loaded(load_text: Load, keys: str) -> Prometheus:
    found = load_text(section(keys)).observers.prometheus
    assert found is not None
    return found


@pytest.mark.parametrize("url", ["http://p", "https://p:9090/prometheus", "http://[::1]:9090/", "http://10.0.0.1"])
def test_addresses(load_text: Load, url: str) -> None:
    assert loaded(load_text, f'url: "{url}"').url == url


@pytest.mark.parametrize(
    "url",
    [
        *("p:9090", "ftp://p", "http://", "http://:9090", "http://p:0", "http://p:x", "http://[::1", "http://p?a=b"),
        *("http://user:hidden@p", "http://user@p", "http://p#a"),
    ],
)
def test_what_is_no_address_is_refused(faults: Faults, url: str) -> None:
    (line,) = faults(section(f'url: "{url}"'))
    assert line.startswith(f"{AT}.url: found ")
    assert line.endswith("expected a URL such as http://prometheus:9090, without user, password and query")


@pytest.mark.parametrize(
    ("security", "wanted"),
    [
        ("username: u", "username and one of password_file, password"),
        ("password: p", "username and one of password_file, password"),
        ("username: u, password: p, password_file: f", "username and one of password_file, password"),
        ("username: u, password: p, token_file: t", "a token or username, not both"),
        ("token: t, token_file: t", "one of token_file, token"),
        ("cert: c", "cert and key together"),
    ],
)
def test_a_login_that_does_not_fit_is_refused(faults: Faults, security: str, wanted: str) -> None:
    (line,) = faults(section(f'url: "https://p", security: {{{security}}}'))
    assert line == f"{AT}.security: found a mapping, expected {wanted}"


@pytest.mark.parametrize("key", ["ca: c", "check_hostname: false"])
def test_tls_goes_with_https(faults: Faults, key: str) -> None:
    (line,) = faults(section(f'url: "http://p", security: {{{key}}}'))
    assert f"expected a URL that begins with https:// with security.{key.partition(':')[0]}" in line


def test_keys_are_strict(faults: Faults) -> None:
    (line,) = faults(section('url: "http://p", security: {tokenfile: t}'))
    assert "security.tokenfile: unknown key" in line
    assert "token_file" in line


def test_secrets_are_not_shown(load_text: Load) -> None:
    found = loaded(load_text, 'url: "https://p", security: {username: u, password: hidden}')
    assert "hidden" not in repr(found)
    assert "hidden" not in found.model_dump_json()
    assert "hidden" not in repr(loaded(load_text, 'url: "https://p", security: {token: hidden}'))
