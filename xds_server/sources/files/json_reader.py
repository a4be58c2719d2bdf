"""Reads JSON: one value or several after one another, with the line of each and of the items of `resources`.

The standard library decodes; only the outermost mapping is taken apart here, since that tells where items start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from xds_server.sources.files.document import DEEPEST, LISTED, Document, SyntaxFaultError, twice
from xds_server.sources.files.yaml_reader import read_yaml

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|-?Infinity|NaN|[\[\]{}]', re.DOTALL)
"""What tells where a value stands that can't be decoded: texts, strange numbers, and what opens and closes."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str) -> Iterator[Document]:
    """The documents of a JSON text in order; none when it holds nothing but white space.

    Raises:
        SyntaxFaultError: It is no JSON, or a mapping has a key twice.
    """
    reader = _Reader(text)
    number = 0
    while not reader.is_at_end():
        number += 1
        try:
            yield reader.document(number)
        except json.JSONDecodeError as error:
            raise SyntaxFaultError(error.msg, error.lineno, error.colno, number) from None
        except _TwiceError as error:
            raise _with_place(text, error) from None
        except _ConstantError as error:
            raise reader.fault_at(reader.constant(), str(error), number) from None
        except RecursionError:
            raise reader.fault_at(reader.depth(), f"nested deeper than {DEEPEST} levels", number) from None


def key_that_stands_twice(text: bytes) -> str | None:
    """A key that occurs twice in a mapping of a JSON text which is known to be right; None when there is none.

    The items of the outermost mapping's `resources` are not looked at: who reads them tells which of them it is.

    Raises:
        RecursionError: It is nested too deeply.
    """
    # Numbers stay texts: Python refuses very long ones.
    pairs = json.loads(text.decode(errors="replace"), object_pairs_hook=_Pairs, parse_int=str)
    if not isinstance(pairs, _Pairs):
        return _twice_in(pairs)
    return _twice_in(_Pairs((key, None if key == LISTED else value) for key, value in pairs))


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it is written."""


def _twice_in(value: object) -> str | None:
    if isinstance(value, _Pairs):
        keys = [key for key, _ in value]
        if len(set(keys)) < len(keys):
            return next(key for index, key in enumerate(keys) if key in keys[:index])
        value = [each for _, each in value]
    below = value if isinstance(value, list) else []
    return next((found for each in below if (found := _twice_in(each)) is not None), None)


class _TwiceError(ValueError):
    """A key that occurs twice in one mapping."""


class _ConstantError(ValueError):
    """`NaN` or `Infinity`, which Python's decoder takes and JSON does not know."""


class _Reader:
    """A place in a JSON text, and the line it is in."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse).raw_decode
        self._position = 0
        self._counted = 0
        self._line = 1
        self._lines: list[int] = []
        self._skip()

    def is_at_end(self) -> bool:
        return self._position >= len(self._text)

    def document(self, number: int) -> Document:
        self._lines = []
        start, line = self._position, self.line()
        value = self._mapping() if self._sees("{") else self._value()
        self._skip()
        if _SURROGATE.search(self._text, start, self._position):
            self._check_surrogates(value, start)
        return Document(number, line, value, tuple(self._lines))

    def _mapping(self) -> dict[str, object]:
        pairs: list[tuple[str, object]] = []
        self._take("{")
        while not self._sees("}"):
            if pairs:
                self._take(",")
            if not self._sees('"'):
                raise self._fault("Expecting property name enclosed in double quotes")
            key = str(self._value())
            self._skip()
            self._take(":")
            pairs.append((key, self._items() if key == LISTED and self._sees("[") else self._value()))
            self._skip()
        self._take("}")
        return _unique(pairs)

    def _items(self) -> list[object]:
        items: list[object] = []
        self._take("[")
        while not self._sees("]"):
            if items:
                self._take(",")
            self._lines.append(self.line())
            items.append(self._value())
            self._skip()
        self._take("]")
        return items

    def _value(self) -> object:
        value: object
        value, self._position = self._decode(self._text, self._position)
        return value

    def _sees(self, character: str) -> bool:
        return self._text.startswith(character, self._position)

    def _take(self, character: str) -> None:
        if not self._sees(character):
            raise self._fault(f"Expecting {character!r}")
        self._position += 1
        self._skip()

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position

    def line(self) -> int:
        """The line of the place, from 1."""
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line

    def constant(self) -> int:
        """Where the next number stands that JSON does not know."""
        tokens = _TOKEN.finditer(self._text, self._position)
        return next((each.start() for each in tokens if each[0][-1] in "yN"), self._position)

    def depth(self) -> int:
        """Where the text is nested too deeply."""
        open_ones = 0
        for each in _TOKEN.finditer(self._text, self._position):
            open_ones += (each[0] in "[{") - (each[0] in "]}")
            if open_ones > DEEPEST:
                return each.start()
        return self._position

    def fault_at(self, position: int, message: str, document: int) -> SyntaxFaultError:
        """A fault with its line and column."""
        line = self._text.count("\n", 0, position) + 1
        return SyntaxFaultError(message, line, position - self._text.rfind("\n", 0, position), document)

    def _fault(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._position)

    def _check_surrogates(self, value: object, start: int) -> None:
        """Half a surrogate pair is no character: nothing could print it or send it."""
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise json.JSONDecodeError("half a surrogate pair is no character", self._text, start) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for index, key in enumerate(keys) if key in keys[:index]))
    return mapping


def _refuse(name: str) -> object:
    raise _ConstantError(f"{name} is no JSON number")


def _with_place(text: str, error: _TwiceError) -> SyntaxFaultError:
    """Where a key occurs twice: JSON is YAML too, and that reader knows all places."""
    try:
        for _ in read_yaml(text):
            pass
    except SyntaxFaultError as fault:
        return fault
    return SyntaxFaultError(twice(str(error)))
