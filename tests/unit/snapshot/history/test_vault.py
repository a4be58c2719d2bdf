"""The vault: keys from files, sealed bytes bound to what they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from xds_server.snapshot.history.vault import Vault, read_key
from xds_server.wire.resource import Resource
from xds_server.wire.types import SECRET


def test_sealed_bytes_open_for_the_same_resource_only() -> None:
    vault = Vault(lambda _: True, bytes(32))
    resource = Resource("cert", SECRET, b"planted")
    sealed = vault.seal(resource)
    assert sealed is not None
    assert vault.unseal(SECRET, "cert", resource.version, sealed) == b"planted"
    assert vault.unseal(SECRET, "other", resource.version, sealed) is None
    assert vault.unseal(SECRET, "cert", resource.version, sealed[:-1]) is None
    assert vault.unseal(SECRET, "cert", resource.version, b"") is None
    assert sealed != vault.seal(resource), "each time with a nonce of its own"


def test_without_a_key_nothing_is_sealed() -> None:
    vault = Vault(lambda _: True)
    assert vault.seal(Resource("cert", SECRET, b"planted")) is None
    assert vault.unseal(SECRET, "cert", "v", b"x" * 40) is None


def test_a_verdict_is_asked_for_once_per_content() -> None:
    asked: list[str] = []

    def judge(resource: Resource) -> bool:
        asked.append(resource.version)
        return True

    vault = Vault(judge)
    one, two = Resource("a", SECRET, b"1"), Resource("a", SECRET, b"2")
    for resource in (one, one, two, two):
        assert vault.hides(resource)
    assert asked == [one.version, two.version]


def test_a_key_is_derived_from_what_a_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"0123456789abcdef")
    key = read_key(file)
    assert len(key) == 32
    file.write_bytes(b"0123456789abcdef\n")
    assert read_key(file) == key
    file.write_bytes(b"0123456789abcdeX")
    assert read_key(file) != key


def test_a_key_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"history\.key_file: can't read .*No such file"):
        read_key(tmp_path / "none")
    (tmp_path / "short").write_text("short\n")
    with pytest.raises(OSError, match=r"history\.key_file: .* holds 5 bytes, expected 16 or more"):
        read_key(tmp_path / "short")
