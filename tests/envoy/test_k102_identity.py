"""Real Envoys that prove who they are: over mutual TLS as `envoy/bootstrap-mtls.yaml` has it, and by a token."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from tests.support.callers import tls_settings
from tests.support.certificates import Authority
from tests.support.fleet import SLACK, Fleet
from xds_server.demo.backends import Backend
from xds_server.demo.bootstrap import Mode, bootstrap_folder
from xds_server.demo.polling import until
from xds_server.demo.world import assignment, cluster, listener, route, routes
from xds_server.demo.yaml_files import write_documents

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

ID = "spiffe://example.org/edge"
TOKEN = "planted-lab-0123456789"


def write_client(folder: Path, authority: Authority) -> None:
    """Put what `bootstrap-mtls.yaml` refers to into `folder`."""
    folder.mkdir()
    authority.issue("envoy-1", uris=[ID]).write(folder)
    (folder / "ca.crt").write_text(authority.certificate)
    for file in (bootstrap_folder() / "sds").iterdir():
        (folder / file.name).write_text(file.read_text().replace("/etc/envoy/tls", str(folder)))


async def test_k102_mutual_tls_with_a_real_envoy(fleet: Fleet, tmp_path: Path, backends: list[Backend]) -> None:
    authority = Authority()
    certificates, own = tmp_path / "client", tmp_path / "server"
    write_client(certificates, authority)
    own.mkdir()
    authority.issue("tidegate").write(own)
    (own / "ca.crt").write_text(authority.certificate)
    auth = {"clients": [{"spiffe": ID, "groups": ["edge"]}]}
    plane = fleet.tidegate({"xds": {"tls": tls_settings(own, clients=True), "auth": auth}})
    edge = plane.files / "group=edge"
    edge.mkdir()

    def serve(backend: Backend) -> None:
        name = backend.name
        documents = [
            cluster(name),
            assignment(name, [backend.port]),
            listener("web", "web"),
            routes("web", [route(name)]),
        ]
        write_documents(edge / "web.yaml", documents)

    serve(backends[0])
    await plane.start()
    envoy = await fleet.envoy(Mode.MTLS, plane.xds, node="envoy-1", cluster="edge", certificates=certificates)
    url = f"http://{await envoy.listener('web')}/"
    assert await _answer(url) == backends[0].name
    assert (await plane.node("envoy-1"))["identity"] == ID

    # The server's certificate is exchanged: the stream goes on, and after a cut Envoy takes the new one.
    seq = await plane.sequence("edge")
    authority.issue("tidegate").write(own)
    serve(backends[1])
    await plane.programmed(after=seq, group="edge")
    assert await _answer(url) == backends[1].name
    await plane.child.kill()
    await plane.start()
    await plane.programmed(group="edge", within=20 * SLACK)

    # The same certificate in another group.
    await fleet.envoy(Mode.MTLS, plane.xds, node="envoy-2", cluster="other", certificates=certificates)

    async def denied() -> bool:
        return 'rejected_total{reason="denied"}' in (await plane.request("/metrics"))[1]

    await until(denied, within=10 * SLACK, what="the other group is denied")
    assert not await plane.node("envoy-2")
    assert (await plane.node("envoy-1"))["connected"]


async def test_k102_a_token_in_the_metadata_of_a_real_envoy(fleet: Fleet, tmp_path: Path) -> None:
    """As docs/security.md says: `initial_metadata` of the `grpc_service`."""
    (tmp_path / "lab").write_text(TOKEN)
    auth = {"clients": [{"token_file": str(tmp_path / "lab"), "groups": ["lab"]}]}
    plane = fleet.tidegate({"xds": {"auth": auth}})
    await plane.start()
    without = await fleet.envoy(Mode.SOTW, plane.xds, node="without", cluster="lab")

    def with_token(bootstrap: str) -> str:
        made = json.loads(bootstrap)
        (service,) = made["dynamic_resources"]["ads_config"]["grpc_services"]
        service["initial_metadata"] = [{"key": "authorization", "value": f"Bearer {TOKEN}"}]
        return json.dumps(made)

    await fleet.envoy(Mode.SOTW, plane.xds, node="with", cluster="lab", edit=with_token)

    async def known() -> bool:
        return (await plane.node("with")).get("identity") == "token lab"

    await until(known, within=10 * SLACK, what="the Envoy with the token is known")
    assert not await plane.node("without")
    assert 'rejected_total{reason="unauthenticated"}' in (await plane.request("/metrics"))[1]
    assert TOKEN not in plane.child.tail(10_000)
    assert await without.stats("control_plane.connected_state") == {"control_plane.connected_state": 0}


async def _answer(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return (await response.text()).strip()
