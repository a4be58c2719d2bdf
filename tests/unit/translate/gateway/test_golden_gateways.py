"""Golden cases: the resources that come of the manifests of `tests/golden/gateway/CASE/in.yaml`, `xds.yaml`.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.golden import judge
from tests.support.golden_gateways import CASES, ends_of, shown


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path) -> None:
    judge(shown(ends_of(case)), case / "xds.yaml")
