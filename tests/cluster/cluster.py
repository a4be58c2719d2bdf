"""A cluster as `kubectl` sees it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.fleet import SLACK
from tests.support.kustomize import kubectl, run
from xds_server.demo.load import Load
from xds_server.demo.polling import until

VARIABLE = "TIDEGATE_TEST_CLUSTER"
SYSTEM, SHOP = "tidegate-system", "shop"
"""The namespaces of Tidegate and of the sample."""


def missing() -> str:
    """What a run needs and does not find, in words; "" when all is there."""
    found = os.environ.get(VARIABLE)
    if not found:
        return f"{VARIABLE} is not set: it names the kubeconfig of a cluster that the tests may change"
    if not Path(found).is_file():
        return f"{VARIABLE}={found} is no file"
    return "" if kubectl() else "kubectl is neither in KUBEBUILDER_ASSETS nor on the path"


class Cluster:
    """Commands of kubectl against the cluster."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self.kubeconfig = Path(os.environ[VARIABLE])

    def kubectl(self, *arguments: str, given: str = "", timeout: float = 120) -> str:
        """What a command prints on standard output; the test fails when the command does."""
        return run(*arguments, kubeconfig=self.kubeconfig, given=given, timeout=timeout).strip()

    async def ask(self, *arguments: str) -> str:
        """`kubectl` beside other work."""
        return await asyncio.to_thread(self.kubectl, *arguments)

    def get(self, *what: str) -> dict[str, Any]:
        """An object, or a list of them."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *what, "-o", "json"))
        return found

    def type_in(self, commands: list[str], folder: Path) -> None:
        """Run commands as a page of the documentation has them, in `folder`."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        for line in commands:
            program, *arguments = shlex.split(line)
            assert program == "kubectl"
            done = subprocess.run(
                [kubectl() or program, *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

    def columns(self, *what: str) -> dict[str, str]:
        """The line that `kubectl get` prints of one object, by column."""
        head, line = self.kubectl("get", *what).splitlines()
        starts = [found.start() for found in re.finditer(r"(?<!\S)\S", head)]
        cells = [line[start:end].strip() for start, end in pairwise([*starts, len(line)])]
        return dict(zip(head.split(), cells, strict=True))

    def service(self, namespace: str, name: str) -> str:
        """The URL of the first port of a Service."""
        spec = self.get("-n", namespace, "service", name)["spec"]
        return f"http://{spec['clusterIP']}:{spec['ports'][0]['port']}"

    def story(self, namespace: str) -> str:
        """What the pods of a namespace are and say, for a test that failed."""
        kinds = "pods,deployments,events,dynamicgateways"
        told = [self.kubectl("-n", namespace, "get", kinds, "-o", "wide", "--ignore-not-found")]
        for pod in self.get("-n", namespace, "pods")["items"]:
            name = pod["metadata"]["name"]
            told.append(f"--- {name}\n{self.kubectl('-n', namespace, 'logs', name, '--tail=80')}")
        return "\n".join(told)


def load(cluster: Cluster) -> Load:
    """Requests by the Service of the Envoys, each on a connection of its own, so that all of them get some."""
    return Load({"envoy": cluster.service(SHOP, "envoy") + "/"}, rate=20, fresh=True)


async def answered_by(sending: Load, backend: str) -> None:
    """Wait until the last answer is that of a backend."""

    async def last() -> bool:
        return sending.tallies["envoy"].latest.strip() == backend

    await until(last, within=20 * SLACK, what=f"{backend} answers")
