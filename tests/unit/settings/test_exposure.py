"""Which addresses `serve` warns about: those beyond loopback that nothing protects."""

from __future__ import annotations

import pytest

from tests.unit.settings.cases import Load
from xds_server.settings.exposure import tokens_in_plain_text, unprotected

TLS = "tls: {cert: c, key: k}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("xds: {address: '0.0.0.0:1'}", ["xds"]),
        ("admin: {address: '[::]:1'}", ["admin"]),
        ("xds: {address: '10.0.0.1:1'}\nadmin: {address: 'host.example:2'}", ["xds", "admin"]),
        (f"xds: {{address: '0.0.0.0:1', {TLS}}}", []),
        ("xds: {address: '0.0.0.0:1', auth: {clients: [{token_file: t}]}}", []),
        ("sources: [{kind: kubernetes}]\nxds: {address: '0.0.0.0:1', auth: {token_review: {audience: a}}}", ["xds"]),
        (f"admin: {{address: '0.0.0.0:1', {TLS}}}", []),
        ("admin: {address: '0.0.0.0:1', tokens: {reader: r}}", []),
        ("admin: {address: '0.0.0.0:1', tokens: {operator: o}}", []),
        ("admin: {address: '0.0.0.0:1', tokens: {}, hosts: [a]}", ["admin"]),
        ("xds: {address: 'localhost:1'}\nadmin: {address: '127.0.0.2:1'}", []),
    ],
)
def test_what_is_open_to_others(load_text: Load, text: str, wanted: list[str]) -> None:
    assert [name for name, _ in unprotected(load_text(text))] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("xds: {address: '0.0.0.0:1', auth: {clients: [{token_file: t}]}}", ["xds"]),
        ("xds: {address: '127.0.0.1:1', auth: {clients: [{token_file: t}]}}", []),
        (f"xds: {{address: '0.0.0.0:1', {TLS}, auth: {{clients: [{{token_file: t}}]}}}}", []),
        ("admin: {address: '0.0.0.0:1', tokens: {reader: r}}", ["admin"]),
        ("admin: {address: '0.0.0.0:1', tokens: {operator: o}}", ["admin"]),
        ("admin: {address: '127.0.0.1:1', tokens: {operator: o}}", []),
        (f"admin: {{address: '0.0.0.0:1', {TLS}, tokens: {{operator: o}}}}", []),
    ],
)
def test_where_tokens_can_be_read_on_the_way(load_text: Load, text: str, wanted: list[str]) -> None:
    assert [name for name, _ in tokens_in_plain_text(load_text(text))] == wanted
