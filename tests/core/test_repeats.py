"""Chunks that differ from the one before them in their text alone are read as any other would be."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.json_value import JsonObject
from streamviz.core.repeats import TextPlace
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from tests.core.support import parse
from tests.recordings import recorded

Made = Aggregator[Chunk, JsonObject]
TEXTS = '{"a":"b"}', "\\", '","x":"y', "\u2028data: x", "\x85", "\ufeff", "é", "😀", "\x0b", "streamviz", "\x00"


class _Chat(OpenAIChatAggregator):
    """Reads each chunk anew."""

    def _text_place(self, payload: JsonObject) -> TextPlace | None:
        return None


class _Messages(AnthropicMessagesAggregator):
    """Reads each event anew."""

    def _text_place(self, payload: JsonObject) -> TextPlace | None:
        return None


class _Read(OpenAIChatAggregator):
    """Counts what it reads."""

    payloads = 0

    def _read(self, payload: JsonObject, name: str) -> None:
        self.payloads += 1
        super()._read(payload, name)


FORMATS: dict[str, tuple[Callable[[], Made], Callable[[], Made]]] = {
    "openai_chat": (OpenAIChatAggregator, _Chat),
    "anthropic_messages": (AnthropicMessagesAggregator, _Messages),
}


def chat(content: str, delta: str = "", after: str = "") -> bytes:
    """A chunk whose text is JSON as it stands in it."""
    return f'data: {{"id":"x","choices":[{{"index":0,"delta":{{"content":{content}{delta}}}}}]{after}}}\n\n'.encode()


def message(text: str, padding: str = "") -> bytes:
    """An event whose text is JSON as it stands in it."""
    event = f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}{padding}}}'
    return f"event: content_block_delta\ndata: {event}\n\n".encode()


def read(aggregator: Made, data: bytes) -> Any:
    """All that an aggregator makes of bytes."""
    events = [list(aggregator.aggregate(chunk)) for chunk in parse(data)]
    events.append(aggregator.close())
    state = aggregator.state
    blocks = [(block.kind, block.text, block.first_seq, block.last_seq) for block in state.blocks]
    return events, blocks, state.contradiction, state.fault, state.usage, state.finish_reasons, aggregator.head


def both(format: str, data: bytes) -> None:
    quick, thorough = (make() for make in FORMATS[format])
    assert read(quick, data) == read(thorough, data), data


@pytest.mark.parametrize("format", FORMATS)
def test_recorded_streams_are_read_as_before(format: str) -> None:
    for path in recorded(format):
        both(format, path.read_bytes())


def test_a_chunk_that_differs_in_its_text_alone_is_not_read_again() -> None:
    aggregator = _Read()
    for chunk in parse(b"".join(chat(json.dumps(f"word {n}")) for n in range(50))):
        aggregator.aggregate(chunk)
    assert aggregator.payloads == 2  # the first tells of itself
    assert aggregator.state.blocks[0].text == "".join(f"word {n}" for n in range(50))


def test_padding_makes_no_chunk_another() -> None:
    aggregator = AnthropicMessagesAggregator()
    data = b"".join(message(json.dumps(f"word {n}"), " " * n) for n in range(50))
    both("anthropic_messages", data)
    read(aggregator, data)
    assert aggregator.state.blocks[0].text == "".join(f"word {n}" for n in range(50))


def test_of_a_stream_whose_chunks_differ_otherwise_few_are_tried() -> None:
    aggregator = OpenAIChatAggregator()
    for chunk in parse(b"".join(chat('"a"', after=f',"created":{n}') for n in range(50))):
        aggregator.aggregate(chunk)
    assert not aggregator._repeats.may_learn


ODD: Sequence[bytes] = (
    # The same member twice, the last of which counts; one under another name; one that is escaped.
    chat('"hi"', ',"content":"\\u0068i"'),
    chat('"hi"', ',"c\\u006fntent":"hi"'),
    chat('"\\u0068i"', ',"role":"hi"'),
    chat('"hi"', ',"reasoning_content":"\\u0068i"'),
    chat('"hi"', ',"refusal":"no"'),
    chat('"hi"', ',"foo":"hi"'),
    chat('"hi"', after=',"usage":{"prompt_tokens":1}'),
    chat('"hi"', after=',"obfuscation":"hi"'),
    chat('"streamviz"'),
    chat('""'),
    chat("null"),
    chat('"no end'),
    chat('"hi"').replace(b'"index":0', b'"index":1'),
    chat('"hi"').replace(b'"index":0', b'"index":0,"finish_reason":"stop"'),
    chat('"hi"').replace(b"data: ", b": comment\ndata: "),
    chat('"hi"').replace(b"\n\n", b"\r\n\r\n"),
    chat('"hi"')[:-1],
    b"data: [DONE]\n\n",
)


@given(st.lists(st.one_of(st.sampled_from(ODD), st.sampled_from([chat('"hi"'), chat('"ho"')]))))
def test_whatever_comes_between_them_is_told(reads: list[bytes]) -> None:
    both("openai_chat", b"".join(reads))


words = st.one_of(
    st.sampled_from(TEXTS).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(max_size=8).map(json.dumps),
    # What is no JSON to the letter.
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: f'"{text}"'),
    st.sampled_from(('"\\ud83d"', '"a" ', ' "a"', '"a","index":1', '"a"}}],"choices":[{"delta":{"content":"b"', "7")),
)


@given(st.lists(words, min_size=2, max_size=8))
def test_texts_are_read_to_the_letter(texts: list[str]) -> None:
    both("openai_chat", b"".join(chat('"hi"') + chat(text) for text in texts))
    both("anthropic_messages", b"".join(message('"hi"') + message(text) for text in texts))


@given(st.lists(st.text("}] \n,1", max_size=4), min_size=2, max_size=8))
def test_only_spaces_are_padding(paddings: list[str]) -> None:
    both("anthropic_messages", b"".join(message('"hi"', padding) for padding in ["", *paddings]))
