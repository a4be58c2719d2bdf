"""Lines are what they are, however the network cuts them."""

from __future__ import annotations

from hypothesis import given, strategies as st

from k8s_source.client.lines import Lines

_LINE = st.binary(max_size=20).filter(lambda line: b"\n" not in line)


@given(st.lists(_LINE), _LINE, st.data())
def test_chunks_do_not_matter(lines: list[bytes], rest: bytes, data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines) + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    taking = Lines()
    found = [line for chunk in chunks for line in taking.take(chunk)]
    assert found == [line for line in lines if line.strip()]
    assert taking.rest() == rest.strip()


def test_a_long_line_in_small_chunks_is_joined_once() -> None:
    taking = Lines()
    piece = b"x" * 1_000
    for _ in range(1_500):
        assert taking.take(piece) == []
    (line,) = taking.take(b"\n")
    assert len(line) == 1_500_000
