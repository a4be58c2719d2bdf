"""The namespace that is ours: of the pod, of the kubeconfig's context, else `default`."""

from __future__ import annotations

from pathlib import Path

import pytest

from k8s_source.client.connect import Connection, own_namespace

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: ours
contexts:
  - {name: ours, context: {cluster: c, user: u, namespace: shop}}
  - {name: other, context: {cluster: c, user: u}}
clusters: [{name: c, cluster: {server: "https://127.0.0.1"}}]
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize(("context", "namespace"), [("", "shop"), ("other", "default"), ("none", "default")])
def test_the_one_of_the_context(tmp_path: Path, context: str, namespace: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    assert own_namespace(Connection(path, context)) == namespace


def test_the_pods(tmp_path: Path) -> None:
    in_pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    assert own_namespace(Connection(token=tmp_path / "token"), in_pod) == "default"
    (tmp_path / "namespace").write_text("tidegate-system\n")
    assert own_namespace(Connection(token=tmp_path / "token"), in_pod) == "tidegate-system"


def test_no_kubeconfig_at_all(tmp_path: Path) -> None:
    assert own_namespace(Connection(tmp_path / "none")) == "default"
