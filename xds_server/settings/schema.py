"""The schema as a list of keys: what the error messages look things up in and the reference is written from."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

ANY = "*"
"""In a pattern: any index of a list, any name in a mapping."""

Pattern = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `pattern` has the form of pydantic's `loc`, so the tag of a union's member is a part of it.

    `path` is what people read: `groups[].match.id`, `observers.kafka.clusters.NAME.bootstrap`.
    """

    pattern: Pattern
    path: str
    field: FieldInfo
    section: type[BaseModel]

    @property
    def name(self) -> str:
        """The last part."""
        return self.pattern[-1]

    @property
    def meaning(self) -> str:
        """What the key is for: the docstring below it in the source."""
        return _docstrings(self.section).get(self.name, "")


def keys(model: type[BaseModel], pattern: Pattern = (), path: str = "") -> Iterator[Key]:
    """All keys of a model and of what it contains, each before its children, in the order of the source."""
    for name, field in model.model_fields.items():
        key = Key((*pattern, name), f"{path}.{name}" if path else name, field, model)
        yield key
        yield from _below(field.annotation, key.pattern, key.path)


def _below(annotation: object, pattern: Pattern, path: str) -> Iterator[Key]:
    """The keys of the models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from keys(annotation, pattern, path)
        return
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        tags = tuple(part.tag for part in args[1:] if isinstance(part, Tag))
        yield from _below(args[0], pattern + tags, path)
    elif origin in (Union, UnionType):
        for arg in args:
            yield from _below(arg, pattern, path)
    elif origin is tuple:
        yield from _below(args[0], (*pattern, ANY), f"{path}[]")
    elif origin is dict:
        yield from _below(args[1], (*pattern, ANY), f"{path}.NAME")


@cache
def _docstrings(section: type[BaseModel]) -> Mapping[str, str]:
    """The docstrings of a section's keys, by key.

    Pydantic would read them for all sections whenever it is imported, and take a sixth of a process's start for it.
    """
    found: dict[str, str] = {}
    for each in (each for each in reversed(section.__mro__) if issubclass(each, BaseModel) and each is not BaseModel):
        (made,) = ast.parse(inspect.getsource(each)).body
        for key, text in pairwise(made.body if isinstance(made, ast.ClassDef) else ()):
            match key, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[name] = inspect.cleandoc(words)
    return found


def is_section(field: FieldInfo) -> bool:
    """True when the key's value is a mapping with keys of its own, or a list or mapping of such."""
    return any(True for _ in _below(field.annotation, (), ""))


def unit(field: FieldInfo) -> str:
    """What `units` says about the type: `duration`, `size`, `share`, or "" for none."""
    extra = field.json_schema_extra
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def choices(field: FieldInfo) -> tuple[str, ...]:
    """The words that a key's value is one of; none where it is not a choice."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def fits(pattern: Pattern, loc: tuple[str | int, ...]) -> bool:
    """True when a place of the data (pydantic's `loc`) is one that the pattern means."""
    return len(pattern) == len(loc) and all(want in (ANY, have) for want, have in zip(pattern, loc, strict=True))
