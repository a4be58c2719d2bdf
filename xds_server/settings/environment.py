"""Settings from environment variables: `TIDEGATE_XDS__ADDRESS` is `xds.address`, lists and mappings are JSON.

A single underscore after the prefix does not make a setting of a variable: Kubernetes puts variables such as
`TIDEGATE_PORT` into the pods beside a Service named `tidegate`. Only the names of top-level keys and names
with a double underscore are ours; `strays` looks at the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from xds_server.settings.document import Loc
from xds_server.settings.root import Settings

PREFIX = "TIDEGATE_"
NESTED = "__"


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """The settings that the variables carry, nested as in the file. An empty variable counts as not set."""
    found: dict[str, object] = _Given(environ)()
    for name, value in environ.items():
        first, nested, _ = name[len(PREFIX) :].lower().partition(NESTED)
        if value and nested and name.upper().startswith(PREFIX):
            found.setdefault(first, {})  # a key that the schema does not know is told like any other
    return found


def variable(loc: Loc, environ: Mapping[str, str]) -> str:
    """The variable that set the place, or the one that would."""
    names = [PREFIX + NESTED.join(str(part) for part in loc[:end]).upper() for end in range(len(loc), 0, -1)]
    given = {name.upper(): name for name, value in environ.items() if value}
    below = (given[name] for name in sorted(given) if name.startswith(names[0] + NESTED))
    return next((given[name] for name in names if name in given), None) or next(below, names[0])


class _Shape(Settings, BaseSettings):  # type: ignore[misc]  # two kinds of dict as model_config
    """The settings as pydantic-settings wants to see them; never made, only looked at."""


class _Given(EnvSettingsSource):
    """Reads the variables that it is given, not those of the process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        super().__init__(_Shape, env_prefix=PREFIX, env_nested_delimiter=NESTED)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._environ.items() if value}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Take what is no JSON as text, so that the validation says what was expected in its place."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value
