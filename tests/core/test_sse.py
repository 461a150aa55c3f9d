"""The SSE parser, compared with a slow implementation of the standard."""

import itertools
import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamviz.core import sse
from streamviz.core.json_value import decode, encode
from streamviz.core.sse import SSEEvent, SSEParser, events_in, is_ambiguous

BOM = b"\xef\xbb\xbf"


def read(data: bytes, cuts: Sequence[int] = ()) -> list[SSEEvent]:
    parser = SSEParser()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()


def standard_reading(data: bytes) -> list[tuple[bytes, str]]:
    """(data, event name) of each event with data, character by character as the standard describes it.

    Two differences are intentional: an event cut off by the end of input is returned, and so is one with empty data.
    """
    text = data.removeprefix(BOM)
    lines, line, position = [], b"", 0
    while position < len(text):
        byte = text[position : position + 1]
        position += 1
        if byte not in (b"\r", b"\n"):
            line += byte
            continue
        if byte == b"\r" and text[position : position + 1] == b"\n":
            position += 1
        lines.append(line)
        line = b""
    lines += [line, b""]

    events: list[tuple[bytes, str]] = []
    buffer: list[bytes] = []
    name = b""
    for line in lines:
        if line == b"":
            if buffer:
                events.append((b"\n".join(buffer), name.decode("utf-8", "replace")))
            buffer, name = [], b""
        elif line.startswith(b":"):
            continue
        else:
            field, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if field == b"data":
                buffer.append(value)
            elif field == b"event":
                name = value
    return events


LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
VALUES = st.one_of(
    st.sampled_from(
        [b"", b" ", b"{}", b"[DONE]", b" two  spaces", b"a:b", b"\xff\xfe", BOM, "naïve 😀".encode(), b"\0"]
    ),
    st.binary(max_size=12).map(lambda value: re.sub(rb"[\r\n]", b"", value)),
)
FIELDS = st.sampled_from(
    [b"data:", b"data: ", b"data", b"event:", b"event: ", b"id: ", b"retry: ", b":", b": ", b"other: ", b""]
)
LINES = st.builds(lambda field, value, end: field + value + end, FIELDS, VALUES, LINE_ENDS)
STREAMS = st.builds(
    lambda bom, lines, rest: bom + b"".join(lines) + rest,
    st.sampled_from([b"", BOM]),
    st.lists(st.one_of(LINES, LINE_ENDS), max_size=14),
    st.sampled_from([b"", b"data: cut", b"data", b"\r", b": comment"]),
)
CUTS = st.lists(st.integers(0, 400), max_size=12)


@given(STREAMS, CUTS)
def test_it_reads_what_the_standard_says_however_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    events = read(data, cuts)
    assert [(event.data, event.name) for event in events if event.data is not None] == standard_reading(data)


@given(STREAMS, CUTS)
def test_it_gives_every_byte_again(data: bytes, cuts: list[int]) -> None:
    assert b"".join(event.raw for event in read(data, cuts)) == data


@given(STREAMS, CUTS)
def test_it_gives_the_same_events_whole_cut_and_byte_by_byte(data: bytes, cuts: list[int]) -> None:
    whole = read(data)
    assert read(data, cuts) == whole
    assert read(data, list(range(len(data)))) == whole
    assert list(events_in(data)) == whole


@given(st.binary(max_size=200), CUTS)
def test_it_takes_any_bytes(data: bytes, cuts: list[int]) -> None:
    events = read(data, cuts)
    assert b"".join(event.raw for event in events) == data
    assert [(event.data, event.name) for event in events if event.data is not None] == standard_reading(data)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_it_reads_every_line_end(end: bytes) -> None:
    data = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert [(event.name, event.data) for event in read(data)] == [("a", b"1"), ("", b"2")]


def test_it_waits_for_the_byte_after_a_cr_that_may_be_half_of_a_crlf() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: 1\r\n\r") == []
    assert [event.raw for event in parser.feed(b"\ndata: 2\r\r")] == [b"data: 1\r\n\r\n"]
    assert [event.data for event in parser.close()] == [b"2"]


def test_it_gives_an_event_as_soon_as_its_last_byte_is_there() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: 1\n") == []
    assert [event.data for event in parser.feed(b"\n")] == [b"1"]


def test_it_gives_an_lf_event_at_once_when_others_end_in_cr() -> None:
    parser = SSEParser()
    parser.feed(b"data: 1\r\n\r\n")
    assert [event.data for event in parser.feed(b"data: 2\n\n")] == [b"2"]


def test_it_gives_an_event_that_the_end_of_input_cuts() -> None:
    parser = SSEParser()
    assert parser.feed(b"event: x\ndata: {") == []
    assert parser.close() == [SSEEvent(b"event: x\ndata: {", b"{", "x")]
    assert parser.close() == []


def test_it_joins_data_lines_and_keeps_the_last_name() -> None:
    [event] = read(b"event: a\ndata: 1\nevent: b\ndata:\ndata:  2\n\n")
    assert event == SSEEvent(event.raw, b"1\n\n 2", "b")


def test_it_passes_over_comments_ids_retries_and_unknown_fields() -> None:
    [event] = read(b": hello\nid: 7\nretry: 10\ndata: 1\nfoo: bar\nDATA: 2\n data: 3\n\n")
    assert (event.data, event.name) == (b"1", "")


def test_it_gives_a_comment_as_an_event_with_no_data() -> None:
    assert [event.data for event in read(b": ping\n\ndata: 1\n\n")] == [None, b"1"]


def test_it_takes_a_bom_at_the_start_only() -> None:
    assert [event.data for event in read(BOM + b"data: 1\n\n" + BOM + b"data: 2\n\n")] == [b"1", None]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_data_behind_a_bom_in_midstream_is_ambiguous(end: bytes) -> None:
    """Clients that decode line by line drop the BOM, such as OpenAI's for JavaScript."""
    marked = end.join([BOM + b"data: 2", b"", b""])
    behind = end.join([b"data: 1", BOM + BOM + b"data: 2", b"", b""])
    assert [sse.is_ambiguous(event.raw, event.data) for event in read(b"data: 1\n\n" + marked + behind)] == [
        False, True, True,
    ]  # fmt: skip
    first = read(marked + b'data: "' + BOM + b'"\n\n')
    assert [sse.is_ambiguous(event.raw, event.data) for event in first] == [False, False]


def test_it_tells_empty_data_from_none() -> None:
    assert [event.data for event in read(b"data\n\ndata:\n\nevent: x\n\n")] == [b"", b"", None]


NAMES = st.text(st.characters(exclude_characters="\r\n ", exclude_categories=["Cs"]), max_size=8)


@given(st.binary(max_size=40), NAMES)
def test_what_it_writes_it_reads(data: bytes, name: str) -> None:
    assume(not re.search(rb"\xc2\x85|\xe2\x80[\xa8\xa9]", data))
    [event] = read(sse.write_event(data, name))
    assert event.data == re.sub(rb"\r\n|\r", b"\n", data)
    assert event.name == name


@given(st.text("a\u2028\u2029\x85é\xa8\n\x0b", max_size=20))
def test_what_it_writes_has_no_line_end_that_only_some_clients_know(text: str) -> None:
    raw = sse.write_event(encode({"text": text}))
    assert raw.decode().splitlines() == raw.decode().split("\n")[:-1]
    assert [decode(event.data or b"") for event in read(raw)] == [{"text": text}]


def test_a_comment_means_nothing_to_a_client() -> None:
    assert [event.data for event in read(sse.KEEP_ALIVE)] == [None]


@pytest.mark.parametrize("line", [b"a\n", b":\n", b"data: 1\n", b"a\r", b"data\r\n"])
def test_an_event_of_very_many_lines_is_not_read(line: bytes) -> None:
    end = line[-1:] if line[-2:] != b"\r\n" else b"\r\n"
    raw = line * 1_000_000 + end
    assert events_in(raw) == (SSEEvent(raw, None),)
    assert is_ambiguous(raw, None)


def test_an_event_of_many_lines_is_read() -> None:
    raw = b"data: 1\n" * 19_000 + b"\n"
    assert [event.data for event in events_in(raw)] == [b"\n".join([b"1"] * 19_000)]
    assert not is_ambiguous(raw, events_in(raw)[0].data)
