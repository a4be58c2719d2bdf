"""Golden cases of `validate --envoy`: files in `tests/golden/envoy/CASE/in`, and what a real Envoy makes of them.

It takes what comes of every golden case of gateways, too.

`TIDEGATE_GOLDEN=write` writes the outputs anew; look at the difference before you commit it.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support import golden_gateways
from tests.support.binaries import envoy_command
from xds_server.cli.main import app
from xds_server.snapshot.preflight.envoy import EnvoyChecker
from xds_server.translate.inline import inline
from xds_server.wire.resource import Resource

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests" / "golden" / "envoy").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)  # so that the paths in errors are the same everywhere
    result = CliRunner().invoke(app, ["validate", "in", "--envoy-path", envoy_command()])
    assert result.exit_code == 1, result.output
    expected = Path("out.txt")
    if os.environ.get("TIDEGATE_GOLDEN") == "write":
        expected.write_text(result.output)
    assert "planted" not in result.output
    assert result.output == expected.read_text()


@pytest.mark.parametrize("version", ["1.36", "1.40"])
@pytest.mark.parametrize("case", golden_gateways.CASES, ids=lambda case: case.name)
def test_envoy_takes_what_comes_of_gateways(case: Path, version: str) -> None:
    command = envoy_command(version)
    for group in golden_gateways.by_group(golden_gateways.ends_of(case)).values():
        static = inline(group, partial(_find, group))
        assert static.unchecked == ()
        assert EnvoyChecker(command).ask(static.body, 60.0) is None


def _find(resources: list[Resource], type_url: str, name: str) -> Resource | None:
    return next((each for each in resources if (each.type_url, each.name) == (type_url, name)), None)


def test_good_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["validate", "docs/example", "--envoy"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("3 files, 5 objects, 10 resources in 1 group, no errors; checked by Envoy 1.")


def test_without_an_envoy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["validate", "docs/example", "--envoy-path", "/nowhere/envoy"])
    assert result.exit_code == 1
    assert "there is no command '/nowhere/envoy'" in result.output


def test_the_file_that_envoy_reads_is_private_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script in Envoy's place notes the rights of what it is given."""
    seen = tmp_path / "seen"
    script = tmp_path / "envoy"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "if '--version' in sys.argv: print('envoy version: 0/1.2.3/Clean'); sys.exit()\n"
        "path = sys.argv[sys.argv.index('-c') + 1]\n"
        f"open({str(seen)!r}, 'w').write(f'{{path}} {{os.stat(path).st_mode}} {{os.stat(os.path.dirname(path)).st_mode}}')\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["validate", str(ROOT / "docs/example"), "--envoy-path", str(script)])
    assert result.exit_code == 0, result.output
    path, mode, folder = seen.read_text().split()
    assert stat.S_IMODE(int(mode)) == 0o600
    assert stat.S_IMODE(int(folder)) == 0o700
    assert not Path(path).exists()
    assert not Path(path).parent.exists()
