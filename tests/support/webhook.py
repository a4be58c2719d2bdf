"""`tidegate webhook` as a process beside a real API server, with the rights that `deploy/` gives it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from ruamel.yaml import YAML

from k8s_source.crds.build import definitions
from tests.support.kafka_process import BrokerProcess
from tests.support.kube import Kube, kept_ports
from tests.support.kube_client import Object

NAMESPACE = "tidegate-system"
ROOT = Path(__file__).parents[2]
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "dynamicgateways.gateway.tidegate.dev")
CONFIGURATION = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "tidegate")


def deployed(name: str) -> list[Object]:
    """The objects of a file of `deploy/base/webhook/`."""
    text = (ROOT / "deploy" / "base" / "webhook" / f"{name}.yaml").read_text(encoding="utf-8")
    return [each for each in YAML(typ="safe").load_all(text) if each]


def install(kube: Kube) -> Path:
    """The CRD, the ValidatingWebhookConfiguration and the rights; a kubeconfig of who has them."""
    kube.client.namespace(NAMESPACE)
    kube.apply([*definitions(), *deployed("validation"), *deployed("rbac")])
    return kube.account_kubeconfig(NAMESPACE, "tidegate-webhook")


class Webhook:
    """One replica. The API server reaches it by a URL: it is on this machine, too."""

    def __init__(self, folder: Path, kubeconfig: Path, *arguments: str, port: int | None = None) -> None:
        """Start it, on a free port unless one is given."""
        self.kubeconfig = kubeconfig
        self.port = port or kept_ports(1)[0]
        address = f"127.0.0.1:{self.port}"
        given = ("--address", address, "--url", f"https://{address}", "--kubeconfig", str(kubeconfig))
        options = (*given, "--namespace", NAMESPACE, "--log-format", "json", "--log-level", "debug", *arguments)
        command = [sys.executable, "-m", "xds_server", "webhook", *options]
        self._process = BrokerProcess(command, folder / f"webhook-{self.port}.log")

    @property
    def printed(self) -> str:
        """All that it has logged."""
        return self._process.printed

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.running

    def stop(self) -> int | None:
        """End it as Kubernetes does; its exit code."""
        self._process.stop()
        return self._process.exit_code

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()

    def freeze(self) -> None:
        """It takes connections and answers none."""
        self._process.freeze()

    def thaw(self) -> None:
        """Go on."""
        self._process.thaw()


def until(condition: Callable[[], object], what: str, limit: float = 30.0) -> None:
    """Wait for something."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def bundle(kube: Kube) -> tuple[str, str]:
    """What the API server trusts: for conversion, and for validation."""
    definition, configuration = kube.client.get(*CRD), kube.client.get(*CONFIGURATION)
    conversion = definition["spec"]["conversion"]["webhook"]["clientConfig"]
    validation = configuration["webhooks"][0]["clientConfig"]
    return conversion.get("caBundle", ""), validation.get("caBundle", "")


def told(kube: Kube, webhook: Webhook) -> None:
    """Wait until both are told of this webhook."""

    def is_told() -> bool:
        definition = kube.client.get(*CRD)["spec"]["conversion"]["webhook"]["clientConfig"]
        configuration = kube.client.get(*CONFIGURATION)["webhooks"][0]["clientConfig"]
        return all(str(webhook.port) in each.get("url", "") for each in (definition, configuration))

    until(is_told, webhook.printed)
