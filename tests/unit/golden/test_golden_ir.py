"""Golden cases: the manifests of `tests/golden/gateway/CASE/in.yaml`, and the model that comes of them, `ir.yaml`.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from k8s_source.kinds.gateway_tidegate import DynamicGatewaySpec, ListenerSpec, ListenerTls, PolicySpec, RouteSpec
from k8s_source.kinds.gateway_v1beta1 import LagSpec, RouteSpecV1Beta1
from tests.support.golden import CASES, judge, model_of, plain
from xds_server.derive.engine import Collection, Engine


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path) -> None:
    model = model_of(case, Engine())
    judge({name: shown(getattr(model, name)) for name in ("gateways", "backends", "certificates")}, case / "ir.yaml")


def shown(part: Collection[Any, Any]) -> list[object]:
    """The values of a collection in the order of their keys."""
    return [plain(part.values[key]) for key in sorted(part.values)]


def test_every_field_has_a_case() -> None:
    written = "".join(case.joinpath("in.yaml").read_text() for case in CASES)
    kinds = (DynamicGatewaySpec, RouteSpec, RouteSpecV1Beta1, LagSpec, ListenerSpec, ListenerTls, PolicySpec)
    names = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
    assert {name for name in names if f"{name}:" not in written} == set()


def test_every_reason_has_a_case() -> None:
    root = Path(__file__).parents[3] / "k8s_source" / "to_ir"
    code = "".join(path.read_text() for path in root.glob("*.py"))
    told = "".join(case.joinpath("ir.yaml").read_text() for case in CASES)
    reasons = {word for word in ALL if f'"{word}"' in code}
    assert reasons == set(ALL)
    assert {word for word in ALL if f"reason: {word}\n" not in told} == set()


ALL = (
    "AddressTypeFQDN",
    "DuplicateListener",
    "DuplicateRoute",
    "ExternalName",
    "OverlappingPath",
    "PortNotFound",
    "PortRequired",
    "ServiceNotFound",
)
