"""The configuration file: YAML 1.2 to plain values, and the line on which each of them stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean

from xds_server.settings.errors import SettingsError

Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """`data` as plain dicts, lists and scalars; `lines` counts from 1."""

    name: str
    data: dict[str, object]
    lines: Mapping[Loc, int] = field(default_factory=dict)

    def where(self, loc: Loc) -> str:
        """`file:line` of a place, or of the nearest one around it that has a line."""
        for end in range(len(loc), 0, -1):
            if loc[:end] in self.lines:
                return f"{self.name}:{self.lines[loc[:end]]}"
        return self.name


def read(path: Path) -> Document:
    """Read a configuration file. An empty one is an empty mapping.

    Raises:
        SettingsError: It can't be read, is no YAML (duplicate keys and a second document included), or is
            no mapping with strings as keys.
    """
    try:
        raw = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8-sig"))
    except MarkedYAMLError as error:
        raise SettingsError([_yaml_line(path, error)]) from error
    except OSError as error:
        raise SettingsError([f"{path}: can't be read: {error.strerror or error}"]) from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path}: is no YAML text in UTF-8: {str(error).splitlines()[0]}"]) from error
    reader = _Reader(str(path))
    data = reader.plain({} if raw is None else raw, ())
    if not isinstance(data, dict):
        reader.faults.append(f"{path}: expected a mapping at the top")
    if reader.faults or not isinstance(data, dict):
        raise SettingsError(reader.faults)
    return Document(str(path), data, reader.lines)


def _yaml_line(path: Path, error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
    return f"{place}: broken YAML: {(error.problem or error.context or 'unreadable').splitlines()[0]}"


class _Reader:
    """Turns ruamel's values into plain ones and notes their lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Loc, int] = {}
        self.faults: list[str] = []
        self._open: set[int] = set()

    def plain(self, node: object, loc: Loc) -> object:
        """The node as dict, list or scalar."""
        if isinstance(node, ScalarBoolean):
            return bool(node)
        if not isinstance(node, CommentedMap | CommentedSeq):
            return node
        if id(node) in self._open:
            self.faults.append(f"{self.name}:{node.lc.line + 1}: an alias stands for something that it is part of")
            return None
        self._open.add(id(node))
        result = self._mapping(node, loc) if isinstance(node, CommentedMap) else self._sequence(node, loc)
        self._open.discard(id(node))
        return result

    def _mapping(self, node: CommentedMap, loc: Loc) -> dict[str, object]:
        result: dict[str, object] = {}
        own = node.lc.data or {}
        for key, value in node.items():
            line = own[key][0] + 1 if key in own else node.lc.line + 1
            if not isinstance(key, str):
                self.faults.append(f"{self.name}:{line}: the key {key!r} is no string; put it in quotes")
                continue
            self.lines[(*loc, key)] = line
            result[str(key)] = self.plain(value, (*loc, str(key)))
        return result

    def _sequence(self, node: CommentedSeq, loc: Loc) -> list[object]:
        own = node.lc.data or {}
        result: list[object] = []
        for index, value in enumerate(node):
            self.lines[(*loc, index)] = own[index][0] + 1 if index in own else node.lc.line + 1
            result.append(self.plain(value, (*loc, index)))
        return result
