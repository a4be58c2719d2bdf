"""docs/kubernetes-install.md, as somebody reads it who types what it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.kustomize import ROOT

PAGE = ROOT / "docs" / "kubernetes-install.md"
_COMMAND = re.compile(r"^    (kubectl .*)$", re.MULTILINE)
_FILE = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(heading: str) -> str:
    """What stands below a heading, up to the next one."""
    text = PAGE.read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, heading
    return rest.partition("\n## ")[0]


def commands(heading: str) -> list[str]:
    """The commands of kubectl in a section, but those that open a way in and stay open."""
    return [line for line in _COMMAND.findall(section(heading)) if " port-forward " not in line]


def files(heading: str) -> list[str]:
    """The files that a section shows."""
    return _FILE.findall(section(heading))


def overlay(folder: Path, bootstrap: str) -> None:
    """The overlay of one's own that the page shows, with another Kafka."""
    kustomization, observers = files("Let it follow lag")
    settings = (ROOT / "deploy/base/tidegate.yaml").read_text(encoding="utf-8")
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(kustomization)
    (folder / "tidegate.yaml").write_text(
        settings + re.sub(r'bootstrap: ".*?"', f'bootstrap: "{bootstrap}"', observers)
    )
