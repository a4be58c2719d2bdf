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
    sources = sorted((ROOT / "proto").rglob("*.proto"))
    assert sources
    known = Path(protoc.__file__).parent / "_proto"  # what `python -m grpc_tools.protoc` adds by itself
    arguments = ["protoc", f"-I{ROOT / 'proto'}", f"-I{known}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    assert protoc.main([*arguments, *map(str, sources)]) == 0
    paths = {path.relative_to(tmp_path) for path in tmp_path.rglob("*_pb2.py*")}
    for path in paths:
        made, committed = tmp_path / path, (GENERATED / path).read_text()
        assert VERSION.sub("", made.read_text()) == VERSION.sub("", committed), "run `make docs`"
    assert paths == {path.relative_to(GENERATED) for path in GENERATED.rglob("*_pb2.py*") if path.suffix != ".pyc"}
