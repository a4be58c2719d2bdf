"""Environment variables that begin as ours do and are no setting: slips of the pen, and those of others."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache

from xds_server.settings.environment import NESTED, PREFIX
from xds_server.settings.root import Settings
from xds_server.settings.schema import keys

OTHER_NAMES = frozenset({"ADMIN_URL", "ADMIN_TOKEN_FILE", "ADMIN_CA", "GOLDEN", "LONG"})
"""What follows the prefix in variables that are read elsewhere: by the commands, and by our own tests."""

OTHER_PREFIXES = ("WEBHOOK_", "TEST_", "BENCH_", "ENVOY_", "CONFORMANCE_")
"""What follows the prefix in variables of `tidegate webhook`, and of our own tests and measurements."""

NEAR = 0.8
"""How alike (difflib's ratio, underscores left out) a variable and a known one are when the known one was meant."""

_SERVICE_LINK = re.compile(
    r"(?:.+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes puts into pods for each Service ("Service", "Discovering services: Environment variables")."""


def slips(environ: Mapping[str, str]) -> list[str]:
    """A line for each variable that is no setting and is so near to one that the one was meant."""
    meant = [(name, _meant(name)) for name in _strays(environ)]
    return [f"{name}: unknown variable; the nearest known one is {known}" for name, known in meant if known]


def ignored(environ: Mapping[str, str]) -> list[str]:
    """The variables that are no setting and near to none, such as those that Kubernetes makes for a Service."""
    return [name for name in _strays(environ) if _meant(name) is None]


def _strays(environ: Mapping[str, str]) -> Iterator[str]:
    """The variables that begin as ours do and are none. Unknown keys with `__` are told like those of the file."""
    for name, value in environ.items():
        if not (value and name.upper().startswith(PREFIX)):
            continue
        rest = name.upper().removeprefix(PREFIX)
        is_ours = NESTED in rest or rest.lower() in Settings.model_fields
        if not (is_ours or rest in OTHER_NAMES or rest.startswith(OTHER_PREFIXES)):
            yield name


def _meant(name: str) -> str | None:
    """The known variable that was most likely meant, None when none was."""
    rest = name.upper().removeprefix(PREFIX)
    if _SERVICE_LINK.fullmatch(rest):
        return None
    near = difflib.get_close_matches(rest.replace("_", ""), _known(), 1, NEAR)
    return _known()[near[0]] if near else None


@cache
def _known() -> dict[str, str]:
    """The variables of all keys that are not inside of lists and mappings of any names, by their letters."""
    paths = (key.path for key in keys(Settings) if "[]" not in key.path and ".NAME" not in key.path)
    names = (PREFIX + path.upper().replace(".", NESTED) for path in paths)
    return {name.removeprefix(PREFIX).replace("_", ""): name for name in names}
