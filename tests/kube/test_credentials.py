"""K43: credentials that rotate under a client that goes on, before a real API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

from k8s_source.client.connect import Connection
from k8s_source.client.credentials import LOOK
from k8s_source.informer.condition import Phase
from k8s_source.informer.shared import Informers
from tests.support.kube import Kube
from tests.support.kube_proxy import Asked, KubeProxy, refusal
from tests.support.kube_watch import CONFIG_MAPS, Told, config_map, connected, data_of, running, until


async def test_k43_service_account_token_rotates(kube: Kube, proxy: KubeProxy, namespace: str, tmp_path: Path) -> None:
    kube.apply([config_map(namespace, "one", n="0")])
    tokens = [kube.token(namespace, "tidegate", 600 + n) for n in range(4)]
    assert len(set(tokens)) == 4
    file, valid = tmp_path / "token", {tokens[0]}
    file.write_text(tokens[0])

    def expired(asked: Asked) -> web.StreamResponse | None:
        return None if asked.token in valid else refusal(401, "Unauthorized", "Unauthorized")

    in_pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(proxy.port)}
    options = Connection(token=file, authority=kube.pki.authority)
    with proxy.answering(expired):
        async with connected(options, in_pod) as api, running(informers := Informers(api, namespaces=[namespace])):
            told = Told(informers.informer(CONFIG_MAPS, data_of))
            await asyncio.wait_for(told.informer.synced.wait(), 10)
            for n, token in enumerate(tokens[1:], 1):
                valid.clear()
                proxy.freeze()  # what is on its way does not come either
                proxy.cut()
                kube.apply([config_map(namespace, "one", n=str(n))])
                await until(lambda: told.informer.condition.phase is Phase.FORBIDDEN)
                assert told.world == {"one": {"n": str(n - 1)}}
                valid.add(token)
                file.with_suffix(".new").write_text(token)
                file.with_suffix(".new").replace(file)
                await until(lambda n=n: told.world["one"] == {"n": str(n)}, 35)  # type: ignore[misc]
                await until(lambda: told.informer.condition.phase is Phase.WATCHING)
    assert told.smallest == 1


async def test_a_client_certificate_that_is_replaced_is_used(kube: Kube, namespace: str) -> None:
    user = kube.pki.user("renewed")
    who = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    async with connected(Connection(kube.write_kubeconfig("renewed", user=user))) as api:
        assert b"system:masters" not in await api.request("POST", path, body=who)
        kube.pki.user("renewed", "system:masters")
        api._credentials._looked -= LOOK
        assert b"system:masters" in await api.request("POST", path, body=who)
