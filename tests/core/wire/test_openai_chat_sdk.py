"""Malformed chat streams: what OpenAI's SDK assembles from them is what was judged, or they are marked."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai._models import construct_type
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from tests.core.support import HEAD, aggregate, call, calls, chunks, delta, parse, take_in
from tests.core.wire.official import payloads
from tests.recordings import recorded
from tests.thorough import examples

Payload = dict[str, Any]
END = delta(finish="tool_calls")
EVIL = '{"cmd":"rm -rf /"}'


def put_together(stream: list[Payload]) -> Any:
    """The message of each choice as the SDK has it at the end; None if it raises."""
    state = ChatCompletionStreamState()
    try:
        for payload in stream:
            chunk: Any = construct_type(type_=ChatCompletionChunk, value=payload)
            # Its own iterator skips payloads with another `object`.
            if chunk.object == "chat.completion.chunk":
                state.handle_chunk(chunk)
        return {choice.index: choice.message.to_dict(warnings=False)
                for choice in state.current_completion_snapshot.choices}  # fmt: skip
    except Exception:  # It raises whatever error occurs while it reads.
        return None


def said(message: Any) -> list[tuple[Any, ...]]:
    """The content of a message, and its calls."""
    made = [(each.get("function") or each.get("custom") or {}) for each in message.get("tool_calls") or []]
    made += [message["function_call"]] if message.get("function_call") else []
    found = [("call", each.get("name") or "", each.get("arguments") or each.get("input") or "") for each in made]
    text = message.get("content")
    # Mistral's lists are for its own clients: this SDK keeps the first of them, and no text after it.
    return [*found, ("text", text)] if text and isinstance(text, str) else found


def judged(state: StreamState, choice: int) -> list[tuple[Any, ...]]:
    blocks = [block for block in state.blocks if block.choice == choice]
    content = "".join(block.text for block in blocks if block.kind is BlockKind.CONTENT)
    return [("text", content)] + [
        ("call", block.name, block.text) for block in blocks if isinstance(block, ToolCallStreamBlock)
    ]


def assert_judged(stream: list[Payload]) -> bool:
    """Compare what the SDK assembles with what was judged; returns False if there is nothing to compare."""
    state, assembled = aggregate(*stream), put_together(stream)
    if assembled is None or state.contradiction:
        return False
    for choice, message in assembled.items():
        assert [part for part in said(message) if part not in judged(state, choice)] == []
    return True


CALL = call(0, "a", "bash", "")
TWO_WAYS = {
    "two ids on an index": [calls(call(0, "a", "ba", "")), calls(call(0, "b", "sh", EVIL))],
    "a name that goes on behind the arguments": [
        calls(call(0, "a", "ba", "{")),
        calls(call(0, name="sh", arguments="}")),
    ],
    "a name in pieces": [calls(call(0, "a", "ba", "")), calls(call(0, name="sh", arguments=EVIL))],
    "a name that comes again": [calls(call(0, "a", "go", "")), calls(call(0, name="go", arguments=EVIL))],
    "an index below zero": [calls(CALL), calls(call(-1, arguments=EVIL))],
    "a float for an index": [calls(CALL), calls({"index": 0.0, "function": {"arguments": EVIL}})],
    "true for an index": [
        calls(CALL),
        calls(call(1, "b", "ls", "")),
        calls({"index": True, "function": {"arguments": EVIL}}),
    ],
    "a huge index": [calls(CALL), calls(call(10**12, arguments=EVIL))],
    "indices that are merged": [
        calls(CALL),
        calls(call(2, "c", "x", ""), call(1, "b", "y", ""), call(2, arguments=EVIL)),
    ],
    "a call that goes on behind its end": [calls(CALL), delta(finish="tool_calls"), calls(call(0, arguments=EVIL))],
    "content behind the end": [delta(content="pass"), delta(finish="stop"), delta(content="word")],
    "content that is a list in the middle": [
        delta(content="pass"),
        delta(content=[{"type": "text", "text": " "}]),
        delta(content="word"),
    ],
    "content that is no text": [delta(content="a"), delta(content={"text": "b"})],
    "choices out of order": [{**HEAD, "choices": []}, delta(1, content="a"), delta(0, content="b")],
    "a choice that is no place": [delta(content="a"), delta(-1, content="b")],
    "a choice twice in a chunk": [{**HEAD, "choices": [{"index": 0, "delta": {"content": text}} for text in "ab"]}],
    "chunks that are none": [delta(content="pass"), {**delta(content=" "), "object": "ping"}, delta(content="word")],
    "arguments as text and as an object": [calls(call(0, "a", "bash", "{")), calls(call(0, arguments={"cmd": "rm"}))],
    "a function that is custom too": [calls({**CALL, "custom": {"name": "sh", "input": EVIL}})],
    "a function that goes on as custom": [calls(CALL), calls({"index": 0, "custom": {"input": EVIL}})],
    "a function with the member of a custom call": [
        calls({"index": 0, "id": "a", "function": {"name": "bash", "arguments": EVIL, "input": '{"cmd":"ls"}'}})
    ],
    "a function with an empty one": [
        calls({"index": 0, "id": "a", "function": {"name": "bash", "arguments": EVIL, "input": ""}})
    ],
    "a function call of old with it": [
        delta(function_call={"name": "bash", "arguments": EVIL, "input": {"cmd": "ls"}})
    ],
    "a custom call with the member of a function": [
        calls({"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls", "arguments": EVIL}})
    ],
    "thinking in two fields": [delta(reasoning_content="a", reasoning="b")],
    "thinking in details": [delta(reasoning="a", reasoning_details=[{"text": "b"}])],
    "a message beside a delta": [
        {**HEAD, "choices": [{"index": 0, "delta": {"content": "a"}, "message": {"content": "b"}}]}
    ],
}


@pytest.mark.parametrize("name", TWO_WAYS)
def test_what_clients_may_read_otherwise_is_a_contradiction(name: str) -> None:
    state = aggregate(*TWO_WAYS[name], END)
    assert state.contradiction
    assert state.failure is None


FINE = {
    "interleaved calls": [
        calls(CALL),
        calls(call(1, "b", "ls", "")),
        calls(call(0, arguments="{}")),
        calls(call(1, arguments="[]")),
    ],
    "calls in one chunk": [
        calls(CALL, call(1, "b", "ls", "{}")),
        calls(call(1, arguments=" "), call(0, arguments="{}")),
    ],
    "a late id and a late name": [
        calls(call(0, arguments="")),
        calls(call(0, "a", "bash")),
        calls(call(0, arguments="{}")),
    ],
    "a function call of old beside a call": [
        calls(CALL),
        delta(function_call={"name": "old", "arguments": EVIL}),
        calls(call(0, arguments="{}")),
    ],
    "a custom call": [
        calls({"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "rm"}}),
        calls({"index": 0, "custom": {"input": " -rf"}}),
    ],
    "the same thinking in two fields": [delta(reasoning_content="a", reasoning="a", reasoning_details=[{"text": "a"}])],
    "two choices": [delta(0, content="a"), delta(1, content="b"), delta(0, content="c")],
    "an id that comes again": [calls(CALL), calls(call(0, "a", arguments="{}"))],
}


@pytest.mark.parametrize("name", FINE)
def test_what_all_clients_read_alike_is_none(name: str) -> None:
    assert not aggregate(*FINE[name], END).contradiction
    assert assert_judged([*FINE[name], END])


@pytest.mark.parametrize(
    ("piece", "label", "name", "text"),
    [
        ({"type": "custom", "custom": {"name": "sh", "input": "ls -l"}}, "custom", "sh", "ls -l"),
        (
            {"type": "builtin_function", "function": {"name": "$web", "arguments": "{}"}},
            "builtin_function",
            "$web",
            "{}",
        ),
        ({"type": "mcp", "mcp": {"name": "ask", "arguments": "{}"}}, "mcp", "ask", "{}"),
        ({"type": "mcp", "mcp": {"name": "ask", "input": "x"}}, "mcp", "ask", "x"),
        ({"type": "function", "function": {"name": "f", "arguments": "{}", "input": None}}, "", "f", "{}"),
        ({"type": "custom", "custom": {"name": "f", "input": "x", "arguments": None}}, "custom", "f", "x"),
        ({"type": "shell_call", "action": {"cmd": "rm"}}, "shell_call", "shell", '{"action":{"cmd":"rm"}}'),
    ],
)
def test_calls_of_other_kinds_are_calls(piece: Payload, label: str, name: str, text: str) -> None:
    [block] = aggregate(calls({"index": 0, "id": "a", **piece}), END).blocks
    assert isinstance(block, ToolCallStreamBlock)
    assert (block.label, block.name, block.text) == (label, name, text)


PIECES: Any = st.builds(
    call,
    st.sampled_from([0, 0, 0, 1, 1, 2, None, -1, 10**12]),
    st.sampled_from([None, None, None, "a", "b"]),
    st.sampled_from([None, None, "ba", "sh", ""]),
    st.sampled_from([None, "", '{"a":', "1}", "{}"]),
)
DELTAS: Any = st.one_of(
    st.builds(lambda made: {"tool_calls": made}, st.lists(PIECES, min_size=1, max_size=3)),
    st.builds(lambda text: {"content": text}, st.sampled_from(["x", "y", ""])),
    st.builds(lambda text: {"function_call": {"arguments": text}}, st.sampled_from(["{", "}"])),
    st.builds(lambda word: {"tool_calls": [{"index": 0, "custom": {"input": word}}]}, st.just("ls")),
)
STREAMS: Any = st.lists(
    st.builds(
        lambda choice, said, finish, word: {**delta(choice, finish, **said), "object": word},
        st.sampled_from([0] * 9 + [1, -1]),
        DELTAS,
        st.sampled_from([None] * 9 + ["stop"]),
        st.sampled_from(["chat.completion.chunk"] * 12 + ["ping"]),
    ),
    max_size=5,
)


@settings(max_examples=examples(300))
@given(STREAMS)
def test_generated_streams_are_read_as_the_sdk_reads_them_or_marked(made: list[Payload]) -> None:
    assert_judged([delta(role="assistant", content=""), calls(call(0, "a", "bash", "")), *made, END])


def test_no_recorded_stream_is_marked() -> None:
    marked = {path.stem: said for path in recorded("openai_chat")
              if (said := take_in(parse(path.read_bytes())).state.contradiction)}  # fmt: skip
    assert marked == {}


def test_recorded_streams_are_read_as_the_sdk_reads_them() -> None:
    compared = [assert_judged(payloads(path.read_bytes())) for path in recorded("openai_chat")]
    assert sum(compared) > len(compared) * 0.7


def test_what_cannot_be_read_in_two_ways_may_be_as_long_as_it_likes() -> None:
    many = [calls(call(number, f"id{number}", "f", "{}")) for number in range(8000)]
    state = take_in(chunks(*many, END)).state
    assert len(state.blocks) == 8000
    assert not state.contradiction
