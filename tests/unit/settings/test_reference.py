"""The reference page: up to date, complete, and its example is a good configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.settings.cases import Load
from xds_server.settings import Settings
from xds_server.settings.reference import main, page
from xds_server.settings.schema import is_section, keys

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_key_is_explained() -> None:
    missing = [key.path for key in keys(Settings) if not key.meaning]
    assert missing == []
    text = page()
    assert [key.path for key in keys(Settings) if not is_section(key.field) and f"`{key.path}`" not in text] == []


def test_the_example_loads(load_text: Load) -> None:
    for example in re.findall(r"```yaml\n(.*?)```", page(), re.DOTALL):
        assert load_text(example).sources


def test_it_is_written_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["reference", str(target)])
    main()
    assert target.read_text(encoding="utf-8") == page()
