"""A real Prometheus that lets in who has the password, over TLS; password and authority are exchanged while all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from observers.prometheus.options import Security
from tests.prometheus.server import PASSWORDS, USER, Exporter, Prometheus, prometheus
from tests.support.certificates import Authority
from tests.support.query_api import asking
from xds_server.ir.facts import Observation, ValueQuery

ONE = ValueQuery("vector(1)")


def users(password: str) -> dict[str, Any]:
    """The part of the web configuration with the one user."""
    return {"basic_auth_users": f"{{{USER}: '{PASSWORDS[password]}'}}"}


def known(observation: Observation) -> bool:
    return observation.value == 1 and observation.state == "ok"


def unknown(observation: Observation) -> bool:
    return observation.value is None and observation.state != "not sampled yet"


async def test_name_and_password_exchanged_while_it_runs(scraped: Exporter, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first-password\n")
    async with prometheus(tmp_path / "p", scraped.address, users("first-password")) as server:
        security = Security(username=USER, password_file=file)
        async with asking(server.url, [ONE], security=security) as watcher:
            await watcher.until(ONE, known)
            server.configure(users("second-password"))
            found = await watcher.until(ONE, unknown)
            assert found.state == "denied"
            assert "HTTP status 401" in str(found.unknown)
            assert "first-password" not in str(watcher.told)
            file.write_text("second-password")
            await watcher.until(ONE, known, 30)


async def test_nobody_is_let_in_without(scraped: Exporter, tmp_path: Path) -> None:
    async with prometheus(tmp_path / "p", scraped.address, users("first-password")) as server:
        for security in (Security(), Security(token="a-token"), Security(username="x", password="first-password")):
            async with asking(server.url, [ONE], security=security) as watcher:
                assert (await watcher.until(ONE, unknown)).state == "denied"


@pytest.fixture
async def secure(scraped: Exporter, tmp_path: Path) -> Any:
    """A server with TLS and a password, and its authority."""
    folder = tmp_path / "p"
    folder.mkdir()
    authority = Authority()
    authority.issue("prometheus", ips=["127.0.0.1"]).write(folder)
    tls = {"tls_server_config": f"{{cert_file: {folder}/tls.crt, key_file: {folder}/tls.key}}"}
    async with prometheus(folder, scraped.address, {**tls, **users("first-password")}) as server:
        yield server, authority


async def test_tls_and_an_authority_that_is_exchanged(secure: tuple[Prometheus, Authority], tmp_path: Path) -> None:
    server, authority = secure
    ca = tmp_path / "ca.pem"
    ca.write_text(Authority("another").certificate)
    security = Security(username=USER, password="first-password", ca=ca)
    async with asking(server.url, [ONE], security=security) as watcher:
        found = await watcher.until(ONE, unknown)
        assert found.state == "security"
        assert "certificate verify failed" in str(found.unknown)
        ca.write_text(authority.certificate)
        await watcher.until(ONE, known, 30)
        ca.write_text("no certificate")
        assert (await watcher.until(ONE, unknown)).state == "security"


async def test_a_server_that_wants_a_certificate_of_its_clients(scraped: Exporter, tmp_path: Path) -> None:
    folder, authority = tmp_path / "p", Authority()
    folder.mkdir()
    authority.issue("prometheus", ips=["127.0.0.1"]).write(folder)
    (folder / "ca.pem").write_text(authority.certificate)
    files = ", ".join(
        f"{key}: {folder / name}"
        for key, name in (("cert_file", "tls.crt"), ("key_file", "tls.key"), ("client_ca_file", "ca.pem"))
    )
    tls = {"tls_server_config": f"{{client_auth_type: VerifyClientCertIfGiven, {files}}}"}
    stranger, known_here = tmp_path / "stranger", tmp_path / "known"
    for place, issuer in ((stranger, Authority("another")), (known_here, authority)):
        place.mkdir()
        issuer.issue("tidegate").write(place)
    async with prometheus(folder, scraped.address, tls) as server:
        for place, right in ((stranger, unknown), (known_here, known)):
            security = Security(ca=folder / "ca.pem", cert=place / "tls.crt", key=place / "tls.key")
            async with asking(server.url, [ONE], security=security) as watcher:
                await watcher.until(ONE, right)


async def test_the_host_must_be_the_certificates_unless_it_is_not_looked_at(
    secure: tuple[Prometheus, Authority], tmp_path: Path
) -> None:
    server, authority = secure
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.certificate)
    url = server.url.replace("127.0.0.1", "localhost")
    security = Security(username=USER, password="first-password", ca=ca)
    async with asking(url, [ONE], security=security) as watcher:
        found = await watcher.until(ONE, unknown)
        assert found.state == "security"
        assert "Hostname mismatch" in str(found.unknown)
    security = Security(username=USER, password="first-password", ca=ca, check_hostname=False)
    async with asking(url, [ONE], security=security) as watcher:
        await watcher.until(ONE, known)
