"""Golden cases of gateways: the model that comes of `tests/golden/gateway/CASE/in.yaml`, and how values are written."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from k8s_source.kinds.decode import decode_manifest
from k8s_source.to_ir.build import build
from xds_server.derive.engine import Engine, Input
from xds_server.derive.model import Model
from xds_server.ir.backend import BackendKey, Endpoint
from xds_server.ir.facts import RouteKey
from xds_server.ir.gateway import Certificate, GatewayKey, SecretKey
from xds_server.ir.objects import Object, ObjectKey, Standing
from xds_server.ir.origin import Origin
from xds_server.ir.problem import Problem
from xds_server.sources.files.yaml_reader import read_yaml

CASES = sorted((Path(__file__).parents[1] / "golden" / "gateway").iterdir())


def model_of(case: Path, engine: Engine) -> Model:
    """The model of a case, on an engine where nothing is made of it yet."""
    standings: Input[ObjectKey, Standing] = engine.input("standings")
    model = build(engine, standings)
    engine.update(standings.edit(standings_of(case / "in.yaml")))
    return model


def standings_of(file: Path) -> dict[ObjectKey, Standing | None]:
    """What stands under each identity after the manifests of a file have been read."""
    found: dict[ObjectKey, Standing | None] = {}
    for document in read_yaml(file.read_text()):
        assert isinstance(document.value, dict)
        origin = Origin("files", "in.yaml", document.number, document.line)
        decoded = decode_manifest(document.value, origin, "default")
        if isinstance(decoded, Object):
            found[decoded.key] = Standing(decoded)
        else:
            found[ObjectKey.of(decoded[0].origin)] = Standing(None, decoded)
    return found


def judge(found: object, expected: Path) -> None:
    """Compare what was found with what is expected of it, or write it anew where that is asked for."""
    text = io.StringIO()
    writer = YAML()
    writer.width = 4096
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump(found, text)
    if os.environ.get("TIDEGATE_GOLDEN") == "write":
        expected.write_text(text.getvalue())
    assert text.getvalue() == expected.read_text()


def plain(value: object) -> object:
    """A value of the model as people read it: identities as text, objects by place, no key, and no field at its default."""
    if isinstance(value, Origin):
        return f"{value.kind} {value.namespace}/{value.name} ({value})"
    if isinstance(value, Problem):
        message = LiteralScalarString("\n".join(textwrap.wrap(value.message, 100)))
        return {"reason": value.reason, "field": value.field, "message": message}
    if isinstance(value, Certificate):
        sizes = f"{len(value.chain)} and {len(value.private_key)} letters"
        return {"key": plain(value.key), "pair": sizes, "origin": plain(value.origin)}
    if isinstance(value, Endpoint):
        return f"{value.address} {value.port}"
    if isinstance(value, SecretKey):
        return f"{value.namespace}/{value.name}"
    if isinstance(value, BackendKey | GatewayKey | RouteKey):
        return str(value)
    return _composite(value)


def _composite(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        told = {each.name: (getattr(value, each.name), each.default) for each in fields(value)}
        return {name: plain(found) for name, (found, default) in told.items() if found != default}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value
