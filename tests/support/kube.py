"""A real Kubernetes API server with its etcd on this machine: started, killed, frozen and thawed as the tests ask.

The programs are found as controller-runtime's envtest finds them: in the folder `KUBEBUILDER_ASSETS`, else on the path.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from tests.support.kafka_process import BrokerProcess
from tests.support.kube_client import KubeClient, Object
from tests.support.kube_pki import Pki

PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
CONTROLLERS = "kube-controller-manager"
ISSUER = "https://kubernetes.default.svc.cluster.local"
COMPACTED = ("--watch-cache=false", "--etcd-compaction-interval=2s")
"""Flags with which a resourceVersion that is some seconds old is answered with 410."""


def program(name: str) -> str | None:
    """Where a program is."""
    return shutil.which(name, path=os.environ.get("KUBEBUILDER_ASSETS") or None)


def missing() -> str:
    """Why no API server can be started here; "" when one can."""
    lacking = [name for name in PROGRAMS if program(name) is None]
    where = os.environ.get("KUBEBUILDER_ASSETS", "")
    told = f"KUBEBUILDER_ASSETS={where}" if where else "the path (KUBEBUILDER_ASSETS is not set)"
    return f"{' and '.join(lacking)} not found in {told}" if lacking else ""


def kept_ports(count: int) -> list[int]:
    """Free ports below those from which the system numbers outgoing connections: a server can come back to them."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if port not in found and probe.connect_ex(("127.0.0.1", port)):
                found.append(port)
    return found


class StartKube(Protocol):
    """Starts an API server of the test's own."""

    def __call__(self, *flags: str, controllers: bool = False) -> Kube:
        """With these further flags."""


class Kube:
    """etcd and an API server: RBAC, service accounts, TokenRequest, admission and server-side apply are the real ones."""

    def __init__(self, folder: Path, *flags: str, controllers: bool = False) -> None:
        """`flags` are further ones of the API server; `controllers` adds kube-controller-manager."""
        self.folder = folder
        self._flags = flags
        self._controllers = controllers
        self._processes: dict[str, BrokerProcess] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._etcd_port, self._peer_port, self.port, self._controllers_port = kept_ports(4)
        self.pki = Pki(folder / "pki")
        self.kubeconfig = self.write_kubeconfig("admin", user=self.pki.user("admin", "system:masters"))
        self.client = KubeClient(self.port, self.pki.client_context("admin"))

    @property
    def url(self) -> str:
        """Where the API server is."""
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start what does not run, on the data of an earlier start, and wait until it serves."""
        self._run("etcd", self._etcd_flags())
        self._run("kube-apiserver", self._server_flags())
        self._until("kube-apiserver", self.client.is_ready)
        if self._controllers:
            self._run(CONTROLLERS, self._controller_flags())

    def restart(self) -> None:
        """Crash the API server and start it again on its port."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """End the API server as a crash would. `start` brings it back."""
        self._processes.pop("kube-apiserver").kill()
        self.client.close()

    def freeze(self) -> None:
        """Connections to the API server stay open, and nothing is answered."""
        self._processes["kube-apiserver"].freeze()

    def thaw(self) -> None:
        """Go on."""
        self._processes["kube-apiserver"].thaw()

    def stop_etcd(self) -> None:
        """End etcd: every request fails, until `start`."""
        self._processes.pop("etcd").kill()

    def stop(self) -> None:
        """End everything. A crash is as good as an orderly end for data that nobody reads again, and quicker."""
        self.client.close()
        for process in reversed(self._processes.values()):
            process.kill()
        self._processes.clear()

    def apply(self, objects: Sequence[Object]) -> list[Object]:
        """Apply each of them (server-side), in order, as they are afterwards; a CRD is waited for."""
        return [self.client.apply(each) for each in objects]

    def token(self, namespace: str, account: str, seconds: int = 3600, audience: str = "") -> str:
        """A token of a ServiceAccount, which is made if it is not there (TokenRequest; at least 600 s).

        Without `audience` it is meant for the API server itself.
        """
        self.client.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}
        )
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        body: Object = {"spec": {"expirationSeconds": seconds, "audiences": [audience] if audience else []}}
        status = self.client.request("POST", path, body)["status"]
        return str(status["token"])

    def account_kubeconfig(self, namespace: str, account: str) -> Path:
        """A kubeconfig for a ServiceAccount, which is made if it is not there; it may do what it is bound to."""
        token = self.token(namespace, account)
        return self.write_kubeconfig(f"{namespace}-{account}", user={"token": token})

    def write_kubeconfig(self, name: str, *, user: Mapping[str, object], server: str = "", namespace: str = "") -> Path:
        """A kubeconfig with one context `tests`, of a namespace; `server` is another way there, through a proxy say."""
        place = {"namespace": namespace} if namespace else {}
        cluster = {"server": server or self.url, "certificate-authority": str(self.pki.authority)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": name, **place}}],
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_bytes(msgspec.json.encode(content))
        return path

    def _run(self, name: str, flags: Sequence[str]) -> None:
        running = self._processes.get(name)
        if running is None or not running.running:
            found = program(name)
            assert found, f"{name} not found"
            self._processes[name] = BrokerProcess([found, *flags], self.folder / f"{name}.log")

    def _until(self, name: str, is_ready: Callable[[], bool], limit: float = 60.0) -> None:
        deadline = time.monotonic() + limit
        while not is_ready():
            process = self._processes[name]
            assert process.running, process.printed[-3000:]
            assert time.monotonic() < deadline, process.printed[-3000:]
            time.sleep(0.05)

    def _etcd_flags(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._peer_port))
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _server_flags(self) -> list[str]:
        pki = self.pki
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # it would publish a loopback address, which is no valid endpoint
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--tls-cert-file={pki.certificate('server')}",
            f"--tls-private-key-file={pki.key('server')}",
            f"--client-ca-file={pki.authority}",
            "--authorization-mode=Node,RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={pki.accounts_public}",
            f"--service-account-signing-key-file={pki.accounts_key}",
            "--profiling=false",
            *self._flags,
        ]

    def _controller_flags(self) -> list[str]:
        config = self.write_kubeconfig("controllers", user=self.pki.user("controllers", "system:masters"))
        ways = [f"--{prefix}kubeconfig={config}" for prefix in ("", "authentication-", "authorization-")]
        return [
            *ways,
            "--bind-address=127.0.0.1",
            f"--secure-port={self._controllers_port}",
            f"--cert-dir={self.folder / 'controllers'}",
            "--leader-elect=false",
            "--authentication-skip-lookup=true",
            f"--root-ca-file={self.pki.authority}",
            f"--service-account-private-key-file={self.pki.accounts_key}",
            "--profiling=false",
        ]
