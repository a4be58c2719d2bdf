"""What is said about other replicas, and about the tokens that an API server judges."""

from __future__ import annotations

import pytest

from tests.unit.settings.cases import Faults, Load

CLUSTER = "sources: [{kind: kubernetes}]\n"
AUTH = (
    "xds: {auth: {clients: [{subject: 'system:serviceaccount:edge:envoy', groups: [a]}], token_review: {audience: t}}}"
)


def test_urls_lose_their_last_slash(load_text: Load) -> None:
    found = load_text("replicas: {urls: ['https://a.example.org:19000/', 'http://[::1]:1', 'http://a']}").replicas
    assert found.urls == ("https://a.example.org:19000", "http://[::1]:1", "http://a")


@pytest.mark.parametrize(
    "url", ["a:19000", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a/v1", "http://a?b=c", "http://u:p@a"]
)
def test_what_is_no_url(faults: Faults, url: str) -> None:
    (line,) = faults(f"replicas: {{urls: ['{url}']}}")
    assert "replicas.urls[0]: found" in line
    assert line.endswith("the URL of an admin API, such as https://tidegate-1.example.org:19000")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("replicas: {urls: ['http://a'], service: b}\n" + CLUSTER, "one of urls and service"),
        ("replicas: {audience: a}\n" + CLUSTER, "token_file or accounts, since there is audience"),
        ("replicas: {audience: a, accounts: [b]}\n" + CLUSTER, "a ServiceAccount as system:serviceaccount:"),
        ("replicas: {cert: a}", "both cert and key, or none"),
        ("replicas: {service: a}", "an entry of kind kubernetes in sources, whose API server is asked"),
        ("replicas: {audience: a, token_file: b}", "an entry of kind kubernetes in sources, whose API server is asked"),
        (AUTH, "an entry of kind kubernetes, whose API server xds.auth.token_review asks"),
        (CLUSTER + AUTH.replace(", token_review: {audience: t}", ""), "since xds.auth.clients names ServiceAccounts"),
        (CLUSTER + AUTH.replace("edge:envoy", "edge"), "a ServiceAccount as system:serviceaccount:NAMESPACE:NAME"),
    ],
)
def test_what_does_not_go_together(faults: Faults, text: str, expected: str) -> None:
    (line,) = faults(text)
    assert expected in line


def test_what_goes_together(load_text: Load) -> None:
    settings = load_text(CLUSTER + AUTH + "\nreplicas: {service: tidegate-peers, audience: p, token_file: /t}")
    assert settings.replicas.service == "tidegate-peers"
    auth = settings.xds.auth
    assert auth is not None
    assert auth.clients[0].account == "system:serviceaccount:edge:envoy"
    assert not auth.clients[0].names_certificate
