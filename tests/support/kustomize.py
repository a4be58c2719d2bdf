"""What `kubectl` makes of a folder below `deploy/`, and of a command as a page has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ruamel.yaml import YAML

from tests.support.kube_client import Object

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
LABEL = "app.kubernetes.io/part-of"


def kubectl() -> str | None:
    """Where kubectl is: beside the API server, else on the path."""
    beside = os.environ.get("KUBEBUILDER_ASSETS", "")
    return shutil.which("kubectl", path=beside or None) or shutil.which("kubectl")


def run(*arguments: str, kubeconfig: Path | None = None, given: str = "", timeout: float = 60) -> str:
    """What a command of kubectl prints on standard output; the test fails when the command does."""
    found = kubectl()
    assert found, "kubectl not found"
    options = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    done = subprocess.run(
        [found, *options, *arguments], input=given, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout


def typed(command: str, kubeconfig: Path) -> str:
    """What a shell prints of a command of a page, with kubectl and Tidegate on the path; the test fails when it does."""
    programs = [str(Path(sys.executable).parent), str(Path(kubectl() or "").parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(programs), "KUBECONFIG": str(kubeconfig)}
    shell = ["/bin/sh", "-c", command]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def rendered(folder: Path) -> list[Object]:
    """The objects of a kustomization, in the order in which they are applied."""
    documents = YAML(typ="safe", pure=True).load_all(run("kustomize", str(folder)))
    return [each for each in documents if each]


def of_kind(objects: Iterable[Object], *kinds: str) -> Iterator[Object]:
    """Those of these kinds."""
    return (each for each in objects if each["kind"] in kinds)
