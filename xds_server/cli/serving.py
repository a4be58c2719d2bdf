"""`tidegate serve`: from arguments to settings to the composition root."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from xds_server.app import run
from xds_server.cli.archive import ArchiveError, unpacked
from xds_server.settings import Settings, SettingsError, load
from xds_server.settings.sources import FilesEntry


def serve(config: Path | None, flags: Mapping[str, object], files: Sequence[Path], address_file: Path | None) -> int:
    """Serve until a signal comes; `files` are sources beside those of the configuration. Gives the exit code."""
    try:
        with unpacked(files) as folders:
            settings = _with_files(load(config, flags, os.environ), folders)
            run(settings, address_file)
    except SettingsError as error:
        for line in error.lines:
            print(f"tidegate: {line}", file=sys.stderr)
        return 1
    except (OSError, ArchiveError) as error:
        print(f"tidegate: {error}", file=sys.stderr)
        return 1
    return 0


def _with_files(settings: Settings, files: Sequence[Path]) -> Settings:
    if not files:
        return settings
    entries = [FilesEntry(kind="files", path=path) for path in files]
    return settings.model_copy(update={"sources": (*settings.sources, *entries)})
