"""A configuration file out of a text, for all tests of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.settings.cases import Faults, Load
from xds_server.settings import Settings, SettingsError, load


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """`load` for the text of a file named tidegate.yaml."""

    def loaded(
        text: str = "", flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
    ) -> Settings:
        path = tmp_path / "tidegate.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, flags or {}, environ or {})

    return loaded


@pytest.fixture
def faults(load_text: Load, tmp_path: Path) -> Faults:
    """The lines of the error that such a load raises, without the directory of the file."""

    def lines(
        text: str = "", flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
    ) -> list[str]:
        with pytest.raises(SettingsError) as caught:
            load_text(text, flags, environ)
        assert str(caught.value) == "\n".join(caught.value.lines)
        return [line.replace(f"{tmp_path}/", "") for line in caught.value.lines]

    return lines
