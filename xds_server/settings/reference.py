"""The page `docs/configuration.md`, written from the models: `python -m xds_server.settings.reference FILE`.

Without FILE the page is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from xds_server.settings.later import comes_later
from xds_server.settings.root import Settings
from xds_server.settings.schema import Key, choices, is_section, keys, unit
from xds_server.settings.units import duration_text, size_text

INTRO = """\
# Configuration

<!-- Written by `make docs` from the models in xds_server/settings; change it there. -->

`tidegate serve --config FILE` reads one YAML file. Every key can be left out. What is set more than once
counts in this order, the strongest first:

1. flags of the command,
2. environment variables: `TIDEGATE_`, then the key in capitals, with `__` between its parts
   (`TIDEGATE_XDS__ADDRESS=0.0.0.0:18000`); lists and mappings are JSON
   (`TIDEGATE_SOURCES='[{"kind": "files", "path": "/config"}]'`); an empty variable counts as not set,
3. the file,
4. the defaults below.

Mappings are joined key by key; a list replaces a list. A key that Tidegate does not know is an error that
names the nearest known key, and a wrong value an error that says where it stands, what was found and what
was expected.

A variable that begins with `TIDEGATE_`, has no `__` and is no key is an error when a known one is near
(`TIDEGATE_STATEDIR`, `TIDEGATE_XDS_ADDRESS`). Others are named in a warning and ignored, and so are those that
Kubernetes makes for Services (`TIDEGATE_PORT`, `TIDEGATE_SERVICE_HOST`, `TIDEGATE_PORT_18000_TCP`). The commands
that ask the admin API read `TIDEGATE_ADMIN_URL`, `TIDEGATE_ADMIN_TOKEN_FILE` and `TIDEGATE_ADMIN_CA`.

Units:

- *duration*: numbers with the units `h`, `m`, `s`, `ms`, `us`, such as `10ms`, `1m30s` or `168h`; a bare
  number is seconds.
- *size*: `512KiB`, `16MiB`; a bare number is bytes.
- *address*: `host:port`, IPv6 in brackets (`[::1]:18000`).
- *path*: relative to the working directory.

Keys marked *later* belong to features that have not come yet: they are checked and accepted, and `serve`
says that they are without effect.

An example:

```yaml
xds:
  address: "127.0.0.1:18000"
admin:
  address: "127.0.0.1:19000"
sources:
  - {kind: files, path: ./config}
files:
  settle: 200ms
log: {level: info, format: json}
```
"""

_PLAIN = {str: "string", SecretStr: "string", int: "number", float: "number", bool: "true or false", object: "anything"}


def page() -> str:
    """The whole page."""
    parts = [INTRO]
    top: str | None = None
    for key in keys(Settings):
        if key.pattern[0] != top:
            top = key.pattern[0]
            parts.append(f"\n## {top}\n\n{key.meaning}{' *Later.*' if comes_later(top) else ''}\n")
            parts.append("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n")
        if not is_section(key.field):
            parts.append(_row(key))
    return "".join(parts)


def _row(key: Key) -> str:
    """One line of a table."""
    meaning = key.meaning.replace("\n", " ").replace("|", "\\|")
    whole_later = comes_later(key.pattern[0])
    later = " *Later.*" if not whole_later and comes_later(key.path) else ""
    cells = (f"`{key.path}`{_of_kind(key)}", value_text(key.field), default_text(key.field), meaning + later)
    return f"| {' | '.join(cells)} |\n"


def _of_kind(key: Key) -> str:
    """Entries of `sources` have other keys for each kind."""
    return f" ({key.pattern[2]})" if key.pattern[0] == "sources" else ""


def value_text(field: FieldInfo) -> str:
    """What kind of value a key takes, in a word or two."""
    special = {"share": "number, or part as `10%`"}
    words = choices(field)
    if words:
        return ", ".join(f"`{word}`" for word in words)
    return special.get(unit(field), unit(field)) or ", ".join(_type_words(field.annotation))


def _type_words(annotation: object) -> Iterator[str]:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _type_words(args[0])
    elif origin in (Union, UnionType):
        for arg in args:
            if arg is not NoneType:
                yield from _type_words(arg)
    elif origin is tuple:
        yield f"list of {' '.join(_type_words(args[0]))}s"
    elif origin is dict:
        yield "mapping"
    elif origin is Literal:
        yield from (f"`{word}`" for word in args)
    elif isinstance(annotation, type):
        yield "path" if issubclass(annotation, Path) else _PLAIN.get(annotation, annotation.__name__.lower())


def default_text(field: FieldInfo) -> str:
    """The default as it would be written in the file; *needed* where there is none."""
    if field.is_required():
        return "*needed*"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}) or isinstance(value, BaseModel):
        return "none"
    if unit(field) == "duration":
        return f"`{duration_text(value)}`"
    if unit(field) == "size":
        return f"`{size_text(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> None:
    """Write the page to the file that is named, or print it."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
