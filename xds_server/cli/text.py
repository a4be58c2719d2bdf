"""Text from outside made harmless for a terminal."""

from __future__ import annotations


def clean(text: str) -> str:
    """The text with control characters written out: what a node or a file says must not steer a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else _written(letter) for letter in text)


def _written(letter: str) -> str:
    return " " if letter == "\t" else letter.encode("unicode_escape").decode()
