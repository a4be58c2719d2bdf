"""The bootstrap files of `envoy/`: every supported Envoy takes them, and each one reaches its control plane."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from tests.support.binaries import envoy_command
from tests.support.certificates import Authority
from tests.support.fleet import Fleet
from tests.support.naive import NaiveServer
from xds_server.demo.bootstrap import Mode, bootstrap_folder, render_bootstrap
from xds_server.demo.polling import until

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(60)]

VERSIONS = ("1.36", "1.40")


async def validate(command: str, bootstrap: Path) -> str:
    """What `envoy --mode validate` prints; the test fails when it refuses."""
    process = await asyncio.create_subprocess_exec(
        *(command, "--mode", "validate", "-c", str(bootstrap)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


def write_tls(folder: Path, authority: Authority) -> None:
    """Put what `bootstrap-mtls.yaml` refers to into `folder`: certificates, and the two SDS files of `envoy/sds`."""
    authority.issue("envoy-1").write(folder)
    (folder / "ca.crt").write_text(authority.certificate)
    for file in (bootstrap_folder() / "sds").iterdir():
        (folder / file.name).write_text(file.read_text().replace("/etc/envoy/tls", str(folder)))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", list(Mode))
async def test_every_bootstrap_is_valid(tmp_path: Path, mode: Mode, version: str) -> None:
    write_tls(tmp_path, Authority())
    certificates = tmp_path if mode is Mode.MTLS else None
    text = render_bootstrap(mode, node="n", cluster="c", xds="127.0.0.1:1", certificates=certificates)
    (tmp_path / "bootstrap.json").write_text(text)
    output = await validate(envoy_command(version), tmp_path / "bootstrap.json")
    assert "deprecated" not in output.lower()


@pytest.mark.parametrize("mode", [Mode.SOTW, Mode.DELTA])
async def test_the_files_are_valid_as_they_lie_there(mode: Mode) -> None:
    await validate(envoy_command(), bootstrap_folder() / f"bootstrap-{mode}.yaml")


async def test_mutual_tls_with_the_control_plane(fleet: Fleet, tmp_path: Path) -> None:
    assert await _count(fleet, tmp_path, name="tidegate", counter="ssl.handshake") > 0


async def test_a_control_plane_with_another_name_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    assert await _count(fleet, tmp_path, name="envoy-2", counter="ssl.fail_verify_san") > 0


async def _count(fleet: Fleet, folder: Path, *, name: str, counter: str) -> int:
    """Let an Envoy meet a control plane whose certificate says `name`; wait until `counter` moves."""
    authority = Authority()
    write_tls(folder, authority)
    pair = authority.issue(name)
    credentials = grpc.ssl_server_credentials(
        [(pair.key.encode(), pair.certificate.encode())], authority.certificate.encode(), require_client_auth=True
    )
    async with NaiveServer(credentials=credentials) as server:
        envoy = await fleet.envoy(Mode.MTLS, server.address, certificates=folder)

        async def moved() -> int:
            return sum((await envoy.stats(f"cluster.tidegate.{counter}$")).values())

        return await until(moved, within=10, what=f"{counter} of {envoy.node} moves")
