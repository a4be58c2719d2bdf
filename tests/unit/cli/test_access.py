"""How the operators' commands show who they are, and whom they trust: `--token-file`, `--ca`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.unit.admin.world import World
from tests.unit.cli.conftest import Command
from xds_server.admin import AdminServer
from xds_server.admin.rights import rights_of
from xds_server.credentials.tls import watch_tls
from xds_server.credentials.watched import Credentials
from xds_server.settings import Address
from xds_server.settings.admin import Tokens
from xds_server.settings.base import Tls

TOKEN = "planted-reader-0123456789"


@contextmanager
def _running(server: AdminServer) -> Iterator[str]:
    """Where the server is, while it runs beside the test."""
    with asyncio.Runner() as runner:
        address = runner.run(server.start(Address("127.0.0.1:0")))
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        yield address
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        runner.run(server.stop())


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    return path


def test_a_token_from_a_file(tidegate: Command, token_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rights = rights_of(Tokens(reader=token_file), Credentials())
    with _running(AdminServer(World().deps(), rights)) as address:
        refused = tidegate("status", "--admin", address, code=1)
        assert "this needs a reader's or an operator's token" in refused.stderr
        assert "default" in tidegate("status", "--admin", address, "--token-file", str(token_file)).stdout
        monkeypatch.setenv("TIDEGATE_ADMIN_TOKEN_FILE", str(token_file))
        for command in (["status"], ["nodes"], ["diff"], ["audit"]):
            tidegate(*command, "--admin", address)


def test_an_authority_from_a_file(tidegate: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority()
    authority.issue("localhost").write(tmp_path)
    (tmp_path / "ca.crt").write_text(authority.certificate)
    files = Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    with _running(AdminServer(World().deps(), tls=watch_tls(Credentials(), "admin.tls", files))) as address:
        url = f"https://localhost:{address.rpartition(':')[2]}"
        assert "certificate verify failed" in tidegate("status", "--admin", url, code=1).stderr
        monkeypatch.setenv("TIDEGATE_ADMIN_CA", str(tmp_path / "ca.crt"))
        assert "default" in tidegate("status", "--admin", url).stdout


def test_the_wrong_scheme_is_told(tidegate: Command, tmp_path: Path) -> None:
    Authority().issue("localhost").write(tmp_path)
    files = Tls(cert=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    with _running(AdminServer(World().deps(), tls=watch_tls(Credentials(), "admin.tls", files))) as address:
        assert "it may speak TLS: try https://" in tidegate("status", "--admin", address, code=1).stderr
    with _running(AdminServer(World().deps())) as address:
        assert "try http://" in tidegate("status", "--admin", f"https://{address}", code=1).stderr


@pytest.mark.parametrize(
    ("flag", "content", "wanted"),
    [
        ("--token-file", None, "can't be read: No such file"),
        ("--token-file", b"\n", "holds no token"),
        ("--token-file", b"\xff\xfe", "can't be read"),
        ("--token-file", "schlüssel".encode(), "holds no token"),
        ("--ca", None, "holds no certificate that can be read: No such file"),
        ("--ca", b"nothing", "holds no certificate that can be read"),
    ],
)
def test_a_file_that_is_no_use(
    tidegate: Command, tmp_path: Path, flag: str, content: bytes | None, wanted: str
) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    told = tidegate("status", "--admin", "127.0.0.1:1", flag, str(path), code=1).stderr
    assert f"{flag}: {path} {wanted}" in told
