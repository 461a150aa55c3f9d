"""Lines of a program that nobody vouches for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.executors.mcp_process import Lines, TooLong

MOST = 300


@given(st.lists(st.binary(max_size=50).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_are_those_that_were_written(lines: list[bytes], data: st.DataObject) -> None:
    written, reader = b"".join(line + b"\n" for line in lines), Lines(MOST)
    read: list[bytes | TooLong] = []
    while written:
        count = data.draw(st.integers(1, len(written)))
        read += reader.feed(written[:count])
        written = written[count:]
    assert read == lines


@pytest.mark.parametrize("size", [MOST + 1, 10 * MOST])
@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"%s"}}', 7),
        (b'{ "id": 7, "jsonrpc": "2.0", "result": {"text": "%s"}}', 7),
        (b'{"result":{"text":"%s"},"jsonrpc":"2.0","id":7}', 7),
        (b'{"result":{"text":"%s"},"id":7,"jsonrpc":"2.0"}\r', 7),
        (b'{"result":{"text":"%s","id":7}}', None),
        (b'{"result":{"id":7,"text":"%s"}}', None),
        (b'{"result":{"text":"%s\\"id\\":7}"}}', None),
        (b"%s", None),
    ],
)
def test_a_long_line_says_what_it_answers(size: int, line: bytes, id: int | None) -> None:
    reader = Lines(MOST)
    for piece in (line % (b"x" * size), b"\n", b"short\n"):
        for found in reader.feed(piece):
            if isinstance(found, TooLong):
                assert found.id == id
                assert len(found.head) + len(found.tail) < MOST + 200
            else:
                assert found == b"short"
