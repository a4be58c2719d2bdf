"""Token files: what is a token, what is said of a file that holds none, and that tokens never show."""

from __future__ import annotations

from pathlib import Path

import pytest

from xds_server.credentials.tokens import bearer, read_tokens

PLANTED = "planted-token-0123456789"


def _file(folder: Path, text: str | bytes) -> Path:
    path = folder / "token"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("text", [PLANTED, f"{PLANTED}\n", f"\n  {PLANTED}\r\n", f"older\n{PLANTED}\n"])
def test_a_token_with_or_without_space_around(tmp_path: Path, text: str) -> None:
    tokens = read_tokens(_file(tmp_path, text))
    assert tokens.holds(PLANTED)
    assert not any(tokens.holds(wrong) for wrong in ("", PLANTED[:-1], PLANTED + "x", PLANTED.upper(), "ä"))


def test_each_line_is_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = read_tokens(_file(tmp_path, "old\nnew\n"))
    assert (tokens.holds("old"), tokens.holds("new"), tokens.holds("old\nnew")) == (True, True, False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "token holds no token"),
        (" \n\n", "token holds no token"),
        (f"ok\n{PLANTED} more", "token:2 is no bearer token"),
        (f"{PLANTED}ä", "token:1 is no bearer token"),
        (b"\xff\xfe", "token is no text in UTF-8"),
    ],
)
def test_a_file_without_a_token_is_told_without_its_content(tmp_path: Path, text: str | bytes, wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted) as caught:
        read_tokens(_file(tmp_path, text))
    assert PLANTED not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no can't be read: No such file"):
        read_tokens(tmp_path / "no")


def test_nothing_that_is_kept_shows_a_token(tmp_path: Path) -> None:
    assert repr(read_tokens(_file(tmp_path, PLANTED))) == "TokenSet()"


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("abc", ""), ("Bearer", ""), ("", "")],
)
def test_the_authorization_header(header: str, token: str) -> None:
    assert bearer(header) == token
