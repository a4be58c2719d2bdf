"""`tidegate validate`: what is wrong with files, told as a compiler does, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from xds_server.cli.envoy import Answer, ask
from xds_server.cli.findings import findings
from xds_server.cli.inputs import Inputs, read
from xds_server.cli.text import clean
from xds_server.snapshot.preflight import UnavailableError


def validate(paths: Sequence[Path], *, as_json: bool = False, envoy: str | None = None) -> int:
    """Check files, with `envoy` by that command too; print what is wrong, then a summary. Gives the exit code."""
    inputs = read(paths)
    answer: Answer | None = None
    if envoy is not None:
        try:
            answer = ask(inputs, envoy)
        except UnavailableError as error:
            print(f"tidegate: {error}", file=sys.stderr)
            return 1
        inputs = replace(inputs, problems=[*inputs.problems, *answer.problems])
    if as_json:
        print(json.dumps(document(inputs, answer), indent=2, ensure_ascii=False))
    else:
        report(inputs, sys.stdout)
        for note in answer.notes() if answer else ():
            print(clean(note))
        print(summary(inputs) + (f"; checked by Envoy {answer.version}" if answer else ""))
    return 1 if inputs.problems else 0


def report(inputs: Inputs, out: TextIO) -> None:
    """Print each problem with its place, and the line of the file that it is about."""
    for finding in findings(inputs.problems, inputs.several):
        for text in finding.lines():
            print(text, file=out)


def document(inputs: Inputs, answer: Answer | None) -> dict[str, object]:
    """All of it for programs."""
    errors = [finding.values() for finding in findings(inputs.problems, inputs.several)]
    found = {"files": inputs.files, "groups": sorted(inputs.groups), "resources": _resources(inputs), "errors": errors}
    return found | {"envoy": {"version": answer.version, "unchecked": answer.values()}} if answer else found


def summary(inputs: Inputs) -> str:
    """One line: what was read, what of it would be served, and how much is wrong."""
    groups = _number(len(inputs.groups), "group")
    errors = _number(len(inputs.problems), "error") if inputs.problems else "no errors"
    resources = _number(_resources(inputs), "resource")
    objects = f"{_number(inputs.objects, 'object')}, " if inputs.objects else ""
    nothing = "" if inputs.groups or inputs.problems or inputs.objects else "; nothing is declared there"
    return f"{_number(inputs.files, 'file')}, {objects}{resources} in {groups}, {errors}{nothing}"


def _resources(inputs: Inputs) -> int:
    return sum(len(typeset) for snapshot in inputs.groups.values() for typeset in snapshot.types.values())


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
