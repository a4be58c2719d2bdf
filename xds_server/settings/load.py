"""One `Settings` out of defaults, file, environment and flags, each stronger than the one before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from xds_server.settings.document import Document, Loc, read
from xds_server.settings.environment import from_environment, variable
from xds_server.settings.errors import SettingsError
from xds_server.settings.messages import describe
from xds_server.settings.root import Settings
from xds_server.settings.strays import slips


def load(path: Path | None, overrides: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """Read the configuration.

    Args:
        path: The YAML file; none: there is no file.
        overrides: What the flags say, nested as in the file. `None` means that a flag was not given.
        environ: Environment variables; those that begin with `TIDEGATE_` count.

    Raises:
        SettingsError: The file can't be read or something in the three is wrong; one line per fault.
    """
    document = read(path) if path else Document("defaults", {})
    from_env = from_environment(environ)
    flags = _given(overrides)

    def where(at: Loc) -> str:
        if _holds(flags, at):
            return "command line"
        return variable(at, environ) if _holds(from_env, at) else document.where(at)

    lines = slips(environ)
    try:
        settings = Settings.model_validate(_merged(_merged(document.data, from_env), flags))
    except ValidationError as error:
        lines += [describe(fault, where) for fault in error.errors(include_url=False)]
        raise SettingsError(lines) from None
    if lines:
        raise SettingsError(lines)
    return settings


def _merged(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Mappings are joined key by key; anything else of `over` replaces what was there."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            result[key] = _merged(below, value)
        else:
            result[key] = value
    return result


def _given(overrides: Mapping[str, object]) -> dict[str, object]:
    """The flags that were given; a mapping that is left empty goes too."""
    result: dict[str, object] = {}
    for key, value in overrides.items():
        kept = _given(value) if isinstance(value, Mapping) else value
        if kept is not None and kept != {}:
            result[key] = kept
    return result


def _holds(data: object, at: Loc) -> bool:
    """True when the data has the place."""
    if not at:
        return True
    if isinstance(data, Mapping):
        return at[0] in data and _holds(data[at[0]], at[1:])
    if isinstance(data, list | tuple) and isinstance(at[0], int):
        return at[0] < len(data) and _holds(data[at[0]], at[1:])
    return False
