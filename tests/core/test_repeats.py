"""Chunks that differ from the previous one only in their text are read like any other."""

import json
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.core.repeats import TextPlace
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_responses import OpenAIResponsesAggregator
from tests.core.support import parse
from tests.recordings import recorded

Made = Aggregator[Chunk, JsonObject]
TEXTS = '{"a":"b"}', "\\", '","x":"y', "\u2028data: x", "\x85", "\ufeff", "é", "😀", "\x0b", "streamviz", "\x00"

FILTERED = b'"index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}'


class _Chat(OpenAIChatAggregator):
    """Parses every chunk in full."""

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        return None


class _Messages(AnthropicMessagesAggregator):
    """Parses every event in full."""

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        return None


class _Responses(OpenAIResponsesAggregator):
    """Parses every event in full."""

    @staticmethod
    def _text_place(payload: JsonObject) -> TextPlace | None:
        return None


FORMATS: dict[str, tuple[Callable[..., Made], Callable[..., Made]]] = {
    "openai_chat": (OpenAIChatAggregator, _Chat),
    "anthropic_messages": (AnthropicMessagesAggregator, _Messages),
    "openai_responses": (OpenAIResponsesAggregator, _Responses),
}


def chat(content: str, delta: str = "", after: str = "") -> bytes:
    """A chunk with this JSON as its text, verbatim."""
    return f'data: {{"id":"x","choices":[{{"index":0,"delta":{{"content":{content}{delta}}}}}]{after}}}\n\n'.encode()


def arguments(text: str, piece: str = "", delta: str = "", name: str = "") -> bytes:
    """A chunk with a piece of a call, with this JSON as its arguments, verbatim."""
    call = f'{{"index":0,"function":{{"arguments":{text}{name}}}{piece}}}'
    return f'data: {{"id":"x","choices":[{{"index":0,"delta":{{"tool_calls":[{call}]{delta}}}}}]}}\n\n'.encode()


def message(text: str, padding: str = "", kind: str = "text_delta", name: str = "text") -> bytes:
    """An event with this JSON as its text, verbatim."""
    event = f'{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{name}":{text}}}{padding}}}'
    return f"event: content_block_delta\ndata: {event}\n\n".encode()


def filtered(content: str) -> bytes:
    """Azure's version, which includes the results of its filters."""
    return chat(content).replace(b'"index":0', FILTERED)


def response(text: str, number: object = 4, padding: str = '"ab"', more: str = "", word: str = "output_text") -> bytes:
    """An event with this JSON as its text and padding, verbatim."""
    name = f"response.{word}.delta"
    place = '"item_id":"m","output_index":0,"content_index":0'
    event = f'{{"type":"{name}","sequence_number":{number},{place},"delta":{text},"obfuscation":{padding}{more}}}'
    return f"event: {name}\ndata: {event}\n\n".encode()


def read(aggregator: Made, data: bytes, is_enforcing: bool) -> Any:
    """Everything that an aggregator makes of some bytes, chunk by chunk; if `is_enforcing`, members that the format
    does not have are left out first. Finally it is told to forget the last chunk."""
    told: list[Any] = []
    state = aggregator.state
    for chunk in parse(data):
        try:
            if is_enforcing:
                aggregator.prepare(chunk, leave_out=True)
            chunk = aggregator.prepared(chunk)
            told.append((list(aggregator.aggregate(chunk)), list(state.beside), chunk.raw))
        except UpstreamError as error:
            told.append(error.message)
    told.append(aggregator.close())
    blocks = [(block.kind, block.text, block.first_seq, block.last_seq) for block in state.blocks]
    head = dict(aggregator.head)
    aggregator.forget()
    ends = state.contradiction, state.fault, state.usage, state.finish_reasons
    return told, blocks, ends, head, aggregator.head


def both(format: str, data: bytes, most: int = 1_000) -> None:
    for is_judged, is_enforcing in ((False, False), (True, False), (True, True)):
        quick, thorough = (make(None, "", most, most) for make in FORMATS[format])
        quick.is_judged = thorough.is_judged = is_judged
        assert read(quick, data, is_enforcing) == read(thorough, data, is_enforcing), data


@pytest.mark.parametrize("format", FORMATS)
def test_recorded_streams_are_read_as_before(format: str) -> None:
    for path in recorded(format):
        both(format, path.read_bytes())


def varied(number: int) -> dict[str, object]:
    """Arguments for `response`, different each time."""
    return {"number": number, "padding": json.dumps("x" * (number % 16))}


@pytest.mark.parametrize(
    ("format", "begins", "piece", "varies"),
    # The first piece's own members are read.
    [
        ("openai_chat", chat('"", "role": "assistant"'), chat, None),
        ("openai_chat", chat('""', after=',"obfuscation":""'), chat, lambda n: {"after": f',"obfuscation":"{n}"'}),
        ("openai_chat", chat('""', after=',"p":""'), chat, lambda n: {"after": f',"p":"{n}"'}),
        ("openai_chat", filtered('""'), filtered, None),
        ("openai_chat", arguments('""', ',"id":"c"', name=',"name":"ls"'), arguments, None),
        ("anthropic_messages", message('""'), message, None),
        ("openai_responses", response('""', 3), response, varied),
    ],
    ids=["chat", "OpenAI", "Mistral", "Azure", "call", "messages", "responses"],
)
def test_a_chunk_that_differs_in_its_text_alone_is_not_read_again(
    format: str, begins: bytes, piece: Callable[..., bytes], varies: Callable[[int], Any] | None
) -> None:
    pieces = [piece(json.dumps(f"word {n}"), **(varies(n) if varies else {})) for n in range(50)]
    aggregator = FORMATS[format][0]()
    were_read = []
    for chunk in parse(begins + b"".join(pieces)):
        were_read.append(not aggregator._repeats.text_of(chunk.raw))
        aggregator.aggregate(chunk)
    assert were_read == [True, True, *[False] * 49]
    assert aggregator.state.blocks[0].text == "".join(f"word {n}" for n in range(50))


def test_nothing_is_worked_out_before_the_next_chunk_comes() -> None:
    aggregator, [begin, first, second] = OpenAIChatAggregator(), parse(chat('""') + chat('"a"') + chat('"b"'))
    aggregator.aggregate(begin)
    aggregator.aggregate(first)
    assert aggregator._repeats._before is None
    assert aggregator._repeats.text_of(second.raw) == "b"


def test_nothing_is_left_of_a_stream_that_was_cut_off() -> None:
    """It goes at once, not when garbage is collected."""
    aggregator = OpenAIChatAggregator()
    for chunk in parse(chat('""') + chat('"a"')):
        aggregator.aggregate(chunk)
    left = weakref.ref(aggregator)
    del aggregator
    assert left() is None


def test_padding_makes_no_chunk_another() -> None:
    aggregator = AnthropicMessagesAggregator()
    data = b"".join(message(json.dumps(f"word {n}"), " " * n) for n in range(50))
    both("anthropic_messages", data)
    read(aggregator, data, is_enforcing=False)
    assert aggregator.state.blocks[0].text == "".join(f"word {n}" for n in range(50))


def test_of_a_stream_whose_chunks_differ_otherwise_few_are_tried() -> None:
    aggregator = OpenAIChatAggregator()
    for chunk in parse(b"".join(chat('"a"', after=f',"created":{n}') for n in range(50))):
        aggregator.aggregate(chunk)
    assert not aggregator._repeats.may_learn


ODD: Sequence[bytes] = (
    # The same member twice, of which the last counts; one under another name; one with escapes.
    chat('"hi"', ',"content":"\\u0068i"'),
    chat('"hi"', ',"c\\u006fntent":"hi"'),
    chat('"\\u0068i"', ',"role":"hi"'),
    chat('"hi"', ',"reasoning_content":"\\u0068i"'),
    chat('"hi"', ',"refusal":"no"'),
    chat('"hi"', ',"foo":"hi"'),
    chat('"hi"', after=',"usage":{"prompt_tokens":1}'),
    chat('"hi"', after=',"obfuscation":"hi"'),
    chat('"hi"', after=',"obfuscation":"x","obfuscation":"hi"'),
    chat('"hi"', after=',"obfuscation":"x","p":"y"'),
    chat('"hi"', after=',"p":"y","obfuscation":"z"'),
    chat('"hi"', after=',"foo":{"obfuscation":"x"},"obfuscation":"x"'),
    chat('"hi"', after=',"foo":{"obfuscation":"letters"},"obf\\u0075scation":"letters"'),
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
    # A text that also occurs elsewhere in the chunk, across the parts that are compared.
    chat(json.dumps('delta":{"content')),
    # A text that a policy has left out in one place, and that then occurs where it is not left out.
    chat('"hi"', ',"foo":"Write to me"'),
    chat('"hi"', after=',"note":"Write to me"'),
    # White space after a text, where a line ends and where it does not.
    chat('"hi"\n', after=',"x":1'),
    chat('"hi"\r', after=',"x":1'),
    chat('"hi"', after=',"x":1'),
    b"\xef\xbb\xbf" + chat('"hi"'),
    b"\xef\xbb\xbf" + chat('"ho"'),
    b'\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"hi"}}]}\n\n',
    b'\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"ho"}}]}\n\n',
    chat('"hi"').replace(b',"choices"', b',\ndata: "choices"'),
    chat('"\u2028data: x"').replace(b',"choices"', b',\ndata: "choices"'),
    chat('"' + "long " * 2_000 + '"'),
)
BEGUN = arguments('""', ',"id":"c"', name=',"name":"ls"')
ODD_PIECES: Sequence[bytes] = (
    BEGUN,
    arguments('""', ',"id":"d"', name=',"name":"rm"'),
    arguments('"hi"', ',"id":"c"'),
    arguments('"hi"', ',"id":null,"type":"function"'),
    arguments('"hi"', ',"type":"custom"'),
    arguments('"hi"', ',"type":"foo","foo":{"arguments":"hi"}'),
    arguments('"hi"', ',"note":"Write to me"'),
    arguments('"hi"', ',"index":1'),
    arguments('"hi"', name=',"name":"ls"'),
    arguments('"hi"', name=',"name":null'),
    arguments('"hi"', name=',"input":"hi"'),
    arguments('"hi"', name=',"argum\\u0065nts":"ho"'),
    arguments('"hi"', delta=',"role":"assistant","content":null'),
    arguments('"hi"', delta=',"role":"user"'),
    arguments('"hi"', delta=',"content":"hi"'),
    arguments('"hi"', delta=',"refusal":"no"'),
    arguments('"hi"', delta=',"foo":"Write to me"'),
    arguments('"hi"', delta=',"function_call":{"name":"rm","arguments":"hi"}'),
    arguments('{"path":"hi"}'),
    arguments("null"),
    arguments('""'),
    arguments('"hi').replace(b"\n\n", b'"\n\n'),
    arguments('"hi"').replace(b'"index":0,"function"', b'"index":1,"function"'),
    arguments('"hi"').replace(b'"index":0,"function"', b'"function"'),
    arguments('"hi"').replace(b'"index":0,"function"', b'"index":"0","function"'),
    arguments('"hi"').replace(b"]}}]}", b',{"index":1,"function":{"arguments":"hi"}}]}}]}'),
    arguments('"hi"').replace(b'"index":0,"delta"', b'"index":0,"finish_reason":"tool_calls","delta"'),
    arguments('"hi"').replace(b'"id":"x"', b'"id":"x","model":5'),
    chat('"hi"'),
    b"data: [DONE]\n\n",
)
START = b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":%b}\n\n'
INPUT = {"kind": "input_json_delta", "name": "partial_json"}
ODD_EVENTS: Sequence[bytes] = (
    START % b'{"type":"tool_use","id":"t","name":"shell","input":{"command":"ls"}}',
    START % b'{"type":"tool_use","id":"t","name":"shell","input":{}}',
    START % b'{"type":"text","text":""}',
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    message('""', **INPUT),
    message('"{}"', **INPUT),
    message(json.dumps('{"command":"rm"}'), **INPUT),
    message(json.dumps('delta":{"type')),
    message('"hi"', ',"index":1'),
    message('"hi"', ',"foo":"Write to me"'),
    message('"hi"\n'),
    message('"hi"').replace(b"event: content_block_delta", b"event: content_block_stop"),
    message('"hi"').replace(b"event: content_block_delta\n", b""),
    message('"hi"', kind="thinking_delta", name="thinking"),
    message('"hi"').replace(b"data: ", b"\xef\xbb\xbfdata: "),
    message('""'),
    message('"hi"')[:-1],
)


OPENAIS = [response('"hi"', 5, '"x"'), response('"ho"', 6, '"abc"')]
ITEM = (
    b'event: response.output_item.%b\ndata: {"type":"response.output_item.%b","sequence_number":1,"output_index":0,'
    b'"item":{"id":"m","type":"message","content":[]}}\n\n'
)
ODD_RESPONSES: Sequence[bytes] = (
    ITEM % (b"added", b"added"),
    ITEM % (b"done", b"done"),
    response('"hi"', 4, '""'),
    response('"hi"', 4, "null"),
    response('"hi"', 4, '"Write to me"'),
    response('"hi"', 4, '"' + "x" * 65 + '"'),
    response('"hi"', 4, '"x"', ',"obfuscation":"Write to me"'),
    response('"hi"', 4, '"x"', ',"sequence_number":5'),
    response('"hi"', 4, '"x"', ',"logprobs":[]'),
    response('"hi"', 4, '"x"', ',"logprobs":[{"token":"ho"}]'),
    response('"hi"', 4, '"x"', ',"foo":{"obfuscation":"letters"}'),
    response('"hi"', 4, '{"obfuscation":"x"}'),
    response('"hi"', 4, '"letters","item":{"obfuscation":"x"}'),
    *(response('"hi"', number) for number in ("04", "-4", "4.0", "4e1", '"4"', "null", "true", "987654321", "9" * 12)),
    response('"hi"', 4, '"h\\u0069"'),
    response('"sequence_number\\":4,\\"obfuscation\\":\\"x"'),
    response('"x"', 4, '"x"'),
    response('""'),
    response("null"),
    *(response('"hi"').replace(b'"response.output_text.delta"', kind) for kind in (b"[]", b"{}", b"null", b'["x"]')),
    response('"hi"', word="refusal"),
    response('"hi"', word="reasoning_text"),
    response('"hi"', word="function_call_arguments"),
    response('"hi"').replace(b'"obfus', b'"obf\\u0075s'),
    response('"hi"').replace(b'"item_id":"m"', b'"item_id":"n"'),
    response('"hi"').replace(b'"content_index":0', b'"content_index":1'),
    response('"hi"').replace(b"event: response.output_text.delta\n", b""),
    response('"hi"').replace(b"event: response.output_text.delta\n", b"event: response.refusal.delta\n"),
    response('"hi"')[:-1],
    b'event: response.output_text.done\ndata: {"type":"response.output_text.done","sequence_number":9,"item_id":"m",'
    b'"output_index":0,"content_index":0,"text":"hi"}\n\n',
)
AZURES = [filtered('"hi"'), filtered('"ho"')]
ODD_FILTERS: Sequence[bytes] = (
    AZURES[0].replace(b"safe", b"high"),
    AZURES[0].replace(b"false", b"true"),
    AZURES[0].replace(b"safe", b"Write to me"),
    AZURES[0].replace(b'{"hate"', b'{"name":"rm","hate"'),
    AZURES[0].replace(b'{"hate":{"filtered":false,"severity":"safe"}}', b'"Write to me"'),
    AZURES[0].replace(b'"content_filter_results"', b'"finish_reason":"content_filter","content_filter_results"'),
    chat('"hi"'),
)
PADDED = [chat('"hi"', after=',"obfuscation":"x"'), chat('"ho"', after=',"obfuscation":"abc"')]


@given(st.lists(st.sampled_from((*ODD, *ODD_RESPONSES, *OPENAIS * 8)), max_size=12))
def test_whatever_comes_between_events_of_a_response_is_told(reads: list[bytes]) -> None:
    both("openai_responses", b"".join(reads))


@pytest.mark.parametrize("odd", ODD_RESPONSES)
def test_each_odd_event_of_a_response_is_read_as_it_is_and_so_is_what_follows(odd: bytes) -> None:
    both("openai_responses", b"".join((*OPENAIS, odd, *OPENAIS, odd, odd, *OPENAIS)))
    both("openai_responses", b"".join((odd, odd, *OPENAIS)))


@pytest.mark.parametrize("odd", ODD_FILTERS)
def test_each_odd_finding_of_a_filter_is_read_as_it_is_and_so_is_what_follows(odd: bytes) -> None:
    both("openai_chat", b"".join((*AZURES, odd, *AZURES, odd, odd, *AZURES)))
    both("openai_chat", b"".join((odd, odd, *AZURES)))


@pytest.mark.parametrize(
    "piece",
    [
        lambda n: response(f'"hi {n}"', n, f'"a{n}"', f',"obfuscation":"b{n}"'),
        lambda n: response(f'"hi {n}"', n, f'"a{n}"', f',"obfuscation" :"b{n}"'),
        lambda n: response(f'"hi {n}"', n, f'"a{n}"', f',"obf\\u0075scation":"{"letters" if n < 3 else n}"'),
        lambda n: response(f'"hi {n}"', n, f'"a{n}"', f',"sequence_number":{n}'),
        lambda n: response(f'"hi {n}"', n).replace(b'"m"', b'{"obfuscation":"%b"}' % (b"letters" if n < 3 else b"x")),
        lambda n: response(f'"hi {n}"', n, f'"a{n}"', f',"p":"b{n}"'),
        lambda n: chat(
            f'"hi {n}"', after=f',"foo":{{"obfuscation":"{"letters" if n < 3 else n}"}},"obfuscation":"letters"'
        ),
        lambda n: chat(f'"hi {n}"', after=f',"obfuscation":"a{n}","p":"b{n}"'),
    ],
)
def test_padding_that_is_there_twice_is_told_as_it_was(piece: Callable[[int], bytes]) -> None:
    data = b"".join(map(piece, range(8)))
    both("openai_responses" if data.startswith(b"event") else "openai_chat", data)


@given(st.lists(st.sampled_from((*ODD, *PADDED * 8)), max_size=12))
def test_whatever_comes_between_padded_chunks_is_told(reads: list[bytes]) -> None:
    both("openai_chat", b"".join(reads))


@given(st.lists(st.sampled_from((*ODD, *[chat('"hi"'), chat('"ho"')] * 6)), max_size=12))
def test_whatever_comes_between_them_is_told(reads: list[bytes]) -> None:
    both("openai_chat", b"".join(reads))


@given(st.lists(st.sampled_from((*ODD_PIECES, *[arguments('"hi"'), arguments('"ho"')] * 6)), max_size=12))
def test_whatever_comes_between_pieces_of_calls_is_told(reads: list[bytes]) -> None:
    both("openai_chat", BEGUN + b"".join(reads))


@given(st.lists(st.sampled_from((*ODD_EVENTS, *[message('"hi"'), message('"ho"')] * 4)), max_size=12))
def test_whatever_comes_between_events_is_told(reads: list[bytes]) -> None:
    both("anthropic_messages", b"".join(reads))


@pytest.mark.parametrize("odd", ODD)
def test_each_odd_chunk_is_read_as_it_is_and_so_is_what_follows(odd: bytes) -> None:
    for after in ("", ',"x":1', ',"obfuscation":"x"'):
        plain = chat('"hi"', after=after), chat('"ho"', after=after)
        both("openai_chat", b"".join((*plain, odd, *plain, odd, odd, *plain)))
        both("openai_chat", b"".join((odd, odd, *plain)))


@pytest.mark.parametrize("odd", ODD_PIECES)
def test_each_odd_piece_is_read_as_it_is_and_so_is_what_follows(odd: bytes) -> None:
    plain = arguments('"hi"'), arguments('"ho"')
    both("openai_chat", b"".join((BEGUN, *plain, odd, *plain, odd, odd, *plain)))
    both("openai_chat", b"".join((*plain, odd, odd, *plain)))


@pytest.mark.parametrize("odd", ODD_EVENTS)
def test_each_odd_event_is_read_as_it_is_and_so_is_what_follows(odd: bytes) -> None:
    plain = message('"hi"'), message('"ho"')
    calls = START % b'{"type":"tool_use","id":"t","name":"shell","input":{"command":"ls"}}', message('""', **INPUT)
    both("anthropic_messages", b"".join((*plain, odd, *plain, odd, odd, *plain)))
    both("anthropic_messages", b"".join((*calls, *calls[1:], odd, odd)))


def test_what_was_left_out_of_a_chunk_is_told_where_it_is_said_next() -> None:
    """Regression: it was reported for a chunk that was shortened, and whose rest is like the previous chunk."""
    said = "Write to me"
    plain = chat('"a"', after=',"x":1') + chat('"b"', after=',"x":1')
    cut = chat('"c"', f',"foo":"{said}"', ',"x":1')
    both("openai_chat", plain + cut + chat('"d"', after=f',"x":1,"note":"{said}"'))


def test_limits_are_those_of_any_chunk() -> None:
    many = '"' + ",[{" * 40 + '"'
    both("openai_chat", chat('"hi"') * 3 + chat(many) + chat('"ho"', after=',"x":[1,2,3,4,5,6,7,8,9,0,1,2]'), most=20)


words = st.one_of(
    st.sampled_from(TEXTS).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.text(max_size=8).map(json.dumps),
    # Not valid JSON, strictly speaking.
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: f'"{text}"'),
    st.sampled_from(('"\\ud83d"', '"a" ', ' "a"', '"a","index":1', '"a"}}],"choices":[{"delta":{"content":"b"', "7")),
)


@given(st.lists(words, min_size=2, max_size=8))
def test_texts_are_read_to_the_letter(texts: list[str]) -> None:
    both("openai_chat", b"".join(chat('"hi"') + chat(text) for text in texts))
    both("openai_chat", BEGUN + b"".join(arguments('"hi"') + arguments(text) for text in texts))
    both("anthropic_messages", b"".join(message('"hi"') + message(text) for text in texts))


@given(st.lists(st.text("}] \n,1", max_size=4), min_size=2, max_size=8))
def test_only_spaces_are_padding(paddings: list[str]) -> None:
    both("anthropic_messages", b"".join(message('"hi"', padding) for padding in ["", *paddings]))
