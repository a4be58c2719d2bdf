"""docs/dynamic-gateway.md: it has every field with its default, and each reason on it is one that `validate` gives."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import msgspec
import pytest
from msgspec import NODEFAULT, Struct

from k8s_source.kinds.gateway_tidegate import DynamicGatewaySpec, ListenerSpec, PolicySpec, RouteSpec
from k8s_source.kinds.gateway_v1beta1 import DynamicGatewaySpecV1Beta1, LagSpec, RouteSpecV1Beta1
from tests.unit.k8s_source.manifests import decoded
from xds_server.sources.files.yaml_reader import read_yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "dynamic-gateway.md").read_text(encoding="utf-8")
SECTIONS: dict[str, type[Struct]] = {
    "spec": DynamicGatewaySpec,
    "spec.routes[]": RouteSpec,
    "spec.routes[].lag": LagSpec,
    "spec.listeners[]": ListenerSpec,
    "spec.policy": PolicySpec,
}


def rows(title: str) -> dict[str, str]:
    """The fields of a section's table with what stands under `default`."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)[\w.]*` \| [^|]* \| ([^|]*) \|", section, re.MULTILINE))


@pytest.mark.parametrize("title", SECTIONS)
def test_every_field_stands_there_with_its_default(title: str) -> None:
    told = rows(title)
    fields = {field.encode_name: field for field in msgspec.structs.fields(SECTIONS[title])}
    assert told.keys() == fields.keys()
    for name, field in fields.items():
        assert (told[name] == "needed") is (field.default is NODEFAULT)
        default = field.default.value if isinstance(field.default, Enum) else field.default
        if isinstance(default, bool):
            assert told[name] == f"`{str(default).lower()}`"
        elif isinstance(default, str | int):
            assert told[name].strip("`") == str(default)


def test_the_other_version_differs_in_lag_only() -> None:
    told, flat = set(rows("spec.routes[].lag")), set(rows("spec.routes[]"))
    fields = {field.encode_name for field in msgspec.structs.fields(RouteSpecV1Beta1)}
    section = PAGE.split("\n## spec.routes[].lag\n")[1].split("\n## ")[0]
    before = {
        name for row in re.findall(r"\| ([^|]*) \|$", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert fields - {"lag"} == flat - before
    assert before - {"v1alpha1", "consumerGroup"} <= flat
    assert len(told) == len(before - {"v1alpha1", "consumerGroup"}) - 1
    spec, other = (msgspec.structs.fields(each) for each in (DynamicGatewaySpec, DynamicGatewaySpecV1Beta1))
    assert [field.name for field in spec] == [field.name for field in other]


def test_the_examples_are_right() -> None:
    blocks = re.findall(r"^    apiVersion.*\n(?:    .*\n|^\n)+", PAGE, re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        (document,) = read_yaml(re.sub("^    ", "", block, flags=re.MULTILINE))
        assert isinstance(document.value, dict)
        assert decoded(document.value).key.name == "shop"


def test_every_reason_is_one_of_validate() -> None:
    told = {
        word for row in re.findall(r"^\| (`[A-Z][^|]*) \|", PAGE, re.MULTILINE) for word in re.findall("`(.*?)`", row)
    }
    outputs = "".join(path.read_text() for path in (ROOT / "tests" / "golden" / "validate").glob("*/out.txt"))
    assert len(told) > 12
    assert {reason for reason in told if f"[{reason}]" not in outputs} == set()
