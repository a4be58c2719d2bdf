"""Certificates: what is proved before they are used, how they are exchanged, and what stays when they are broken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.certificates import Authority
from xds_server.credentials.tls import ServerTls, read_tls, watch_tls
from xds_server.credentials.watched import CredentialError, Credentials, Watched
from xds_server.settings.base import Tls

AUTHORITY = Authority()


def _tls(folder: Path) -> Tls:
    return Tls(cert=folder / "tls.crt", key=folder / "tls.key", client_ca=folder / "ca.crt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a pair and its authority."""
    AUTHORITY.issue("one").write(tmp_path)
    (tmp_path / "ca.crt").write_text(AUTHORITY.certificate)
    return tmp_path


def _watched(folder: Path) -> Watched[ServerTls]:
    watched = watch_tls(Credentials(), "xds.tls", _tls(folder))
    assert watched is not None
    return watched


def test_what_is_read_is_what_the_files_hold(folder: Path) -> None:
    found = read_tls(_tls(folder))
    assert found.certificate == (folder / "tls.crt").read_bytes()
    assert found.key == (folder / "tls.key").read_bytes()
    assert found.client_ca == AUTHORITY.certificate.encode()
    assert b"PRIVATE" not in repr(found).encode()


def _encrypted() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, form, locked).decode()


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        ("tls.key", AUTHORITY.issue("other").key, "tls.crt and .*tls.key are no certificate chain .*MISMATCH"),
        ("tls.key", "", "tls.crt and .*tls.key are no certificate chain"),
        ("tls.key", _encrypted(), "tls.crt and .*tls.key are no certificate chain"),
        ("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA", "tls.crt and .*tls.key are no certificate chain"),
        ("ca.crt", "no PEM", "ca.crt holds no certificate"),
        ("ca.crt", None, "ca.crt can't be read: No such file"),
    ],
)
def test_at_the_start_a_broken_file_is_an_error_that_names_it(
    folder: Path, file: str, text: str | None, wanted: str
) -> None:
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(CredentialError, match=f"xds.tls: .*{wanted}"):
        _watched(folder)


def test_a_new_pair_is_taken_when_both_files_are_there(folder: Path) -> None:
    watched = _watched(folder)
    before, pair = watched.value, AUTHORITY.issue("two")
    (folder / "tls.crt").write_text(pair.certificate)
    watched.check()
    assert watched.value is before
    assert not watched.problem, "the key may be on its way"
    (folder / "tls.key").write_text(pair.key)
    watched.check()
    assert watched.value.certificate == pair.certificate.encode()
    assert not watched.problem


def test_a_broken_pair_keeps_the_last_good_one_and_is_told_until_it_is_repaired(folder: Path) -> None:
    watched = _watched(folder)
    before = watched.value
    (folder / "tls.crt").write_text("broken")
    watched.check()
    watched.check()
    assert watched.value is before
    assert "tls.crt" in watched.problem
    pair = AUTHORITY.issue("two")
    pair.write(folder)
    watched.check()
    assert watched.value.certificate == pair.certificate.encode()
    assert not watched.problem


def test_a_pair_that_is_gone_for_a_while_keeps_the_last_good_one(folder: Path) -> None:
    watched = _watched(folder)
    before = watched.value
    (folder / "tls.crt").rename(folder / "away")
    watched.check()
    watched.check()
    assert "can't be read" in watched.problem
    assert watched.value is before
    (folder / "away").rename(folder / "tls.crt")
    watched.check()
    assert not watched.problem


def test_the_symlinks_of_a_mounted_secret(tmp_path: Path) -> None:
    """A kubelet writes a folder of its own for each content, and moves the link `..data` to it."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        AUTHORITY.issue(name).write(tmp_path / name)
        (tmp_path / name / "ca.crt").write_text(AUTHORITY.certificate)
    (tmp_path / "..data").symlink_to("first")
    for file in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / file).symlink_to(f"..data/{file}")
    watched = _watched(tmp_path)
    (tmp_path / "..data_tmp").symlink_to("second")
    os.replace(tmp_path / "..data_tmp", tmp_path / "..data")  # noqa: PTH105 - a link replaces a link
    watched.check()
    assert watched.value.certificate == (tmp_path / "second" / "tls.crt").read_bytes()


def test_files_that_change_while_they_are_read_are_read_again(folder: Path) -> None:
    reads = 0

    def make() -> int:
        nonlocal reads
        reads += 1
        if reads == 2:
            AUTHORITY.issue("three").write(folder)
        return reads

    watched = Watched("x", [folder / "tls.crt"], make)
    AUTHORITY.issue("two").write(folder)
    watched.check()
    assert watched.value == 1
    watched.check()
    assert watched.value == 3
    watched.check()
    assert reads == 3, "nothing has changed since"


def test_the_metric_tells_which_credentials_are_not_the_newest(folder: Path) -> None:
    credentials = Credentials()
    for name in ("xds.tls", "admin.tls"):
        watch_tls(credentials, name, _tls(folder))
    assert credentials.up() == [(("xds.tls",), 1.0), (("admin.tls",), 1.0)]
    (folder / "ca.crt").write_text("broken")
    credentials._check()
    credentials._check()
    assert credentials.up() == [(("xds.tls",), 0.0), (("admin.tls",), 0.0)]
