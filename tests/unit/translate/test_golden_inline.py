"""Golden cases: `tests/golden/inline/CASE/in.yaml` is what is served, `out.yaml` the bootstrap that Envoy checks.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from google.protobuf import json_format
from ruamel.yaml import YAML

from xds_server.sources.files import load
from xds_server.translate.inline import inline
from xds_server.translate.native import decode
from xds_server.translate.protos import class_of
from xds_server.wire.types import key_of

CASES = sorted((Path(__file__).parents[2] / "golden" / "inline").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path) -> None:
    found = outcome(case / "in.yaml")
    expected = case / "out.yaml"
    if os.environ.get("TIDEGATE_GOLDEN") == "write":
        expected.write_text(found)
    assert found == expected.read_text()


def outcome(path: Path) -> str:
    """What is put into the bootstrap besides what every one has, and what is not checked."""
    resources = [decode(document) for unit in load(path) for document in unit.documents]
    by_key = {(each.type_url, each.name): each for each in resources}
    static = inline(resources, lambda url, name: by_key.get((url, name)))
    cls = class_of("envoy.config.bootstrap.v3.Bootstrap")
    assert cls is not None
    message = cls.FromString(static.body)
    # By way of text, since inside of an Any the mappings would be of a kind of their own.
    shown = json.loads(json_format.MessageToJson(message, preserving_proto_field_name=True))["static_resources"]
    unchecked = [f"{key_of(each.type_url)} {each.name}: {each.why}" for each in static.unchecked]
    text = io.StringIO()
    writer = YAML()
    writer.width = 4096
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump({**shown, "unchecked": unchecked}, text)
    return text.getvalue()
