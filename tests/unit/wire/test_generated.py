"""The code in `wire/gen` is what protoc makes of `proto/`."""

from __future__ import annotations

import re
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "xds_server" / "wire" / "gen"
VERSION = re.compile(r"Protobuf Python Version: [\d.]+|    (?:\d+|'[^']*'),\n")
"""What another version of the tool writes differently."""


def test_the_generated_code_is_current(tmp_path: Path) -> None:
    sources = sorted((ROOT / "proto").glob("*.proto"))
    assert sources
    arguments = ["protoc", f"-I{ROOT / 'proto'}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    assert protoc.main([*arguments, *map(str, sources)]) == 0
    for made in tmp_path.iterdir():
        committed = (GENERATED / made.name).read_text()
        assert VERSION.sub("", made.read_text()) == VERSION.sub("", committed), "run `make docs`"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in GENERATED.glob("*_pb2.py*")}
