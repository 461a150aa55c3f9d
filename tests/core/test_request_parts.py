"""The parts of a request: the same for all formats, and never an exception, whatever a client sends."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamviz.core.request_outline import asked_since, outline_of, parts_of, system_of, tools_of
from streamviz.core.request_parts import PartKind, tools_in
from streamviz.core.wire import WIRE_FORMATS
from tests.thorough import examples

PIXEL = "iVBORw0KGgo="
SAID = {
    "openai_chat": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "reasoning_content": "Hm",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a line"},
    ],
    "anthropic_messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a line"}]}],
        },
    ],
    "openai_responses": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
            ],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a line"},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm", "thought": True},
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "read", "args": {"a": 1}}},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "a line"}}}],
        },
    ],
}
TOOLS = {
    "openai_chat": [{"type": "function", "function": {"name": "read"}}, {"type": "custom", "custom": {"name": "run"}}],
    "anthropic_messages": [{"name": "read", "input_schema": {}}, {"type": "bash_20250124", "name": "run"}],
    "openai_responses": [{"type": "function", "name": "read"}, {"type": "run"}],
    "gemini": [{"functionDeclarations": [{"name": "read"}]}, {"run": {}}],
}
SYSTEMS: dict[str, list[Any]] = {
    "openai_chat": [{}, {"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Be kind."}],
    "anthropic_messages": [{"system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]}],
    "openai_responses": [{"instructions": "Be brief."}, {"role": "developer", "content": "Be kind."}],
    "gemini": [{"system_instruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]}}],
}


@pytest.mark.parametrize("name", SAID)
def test_every_format_says_the_same(name: str) -> None:
    body = json.dumps({WIRE_FORMATS[name].turns: SAID[name], "tools": TOOLS[name]}).encode()
    outline = outline_of(body, WIRE_FORMATS[name])
    parts = [part for turn in outline.turns for part in parts_of(turn, outline.wire_format)]
    assert [(part.kind, part.text) for part in parts] == [
        (PartKind.TEXT, "Look"),
        (PartKind.MEDIA, ""),
        (PartKind.THINKING, "Hm"),
        (PartKind.TEXT, "I look."),
        (PartKind.TOOL_CALL, '{"a":1}'),
        (PartKind.TOOL_RESULT, "a line"),
    ]
    assert "image/png" in parts[1].name
    assert parts[1].size == 8
    assert (parts[4].name, parts[4].call_id) == ("read", "c1")
    assert (parts[5].role, parts[5].call_id, parts[5].size) == ("tool", "c1", 6)
    assert list(tools_of(outline)) == ["read", "run"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_words_over_a_conversation_are_one_text(name: str) -> None:
    wire_format = WIRE_FORMATS[name]
    fields, *turns = SYSTEMS[name]
    body = json.dumps({**fields, wire_format.turns: [*turns, *SAID[name]]}).encode()
    outline = outline_of(body, wire_format)
    assert system_of(outline) == "Be brief.\n\nBe kind."
    assert outline.system_turns == len(turns)


def test_a_bare_text_is_what_a_person_said() -> None:
    outline = outline_of(b'{"input":"Look \\u00e9"}', WIRE_FORMATS["openai_responses"])
    [turn] = outline.turns
    assert [(part.role, part.text) for part in parts_of(turn, outline.wire_format)] == [("user", "Look é")]


def test_what_another_agent_of_codexs_says_is_said_to_the_model() -> None:
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I wait."}]}
    task = {"type": "agent_message", "author": "/root", "content": [{"type": "input_text", "text": "Look"}]}
    outline = outline_of(json.dumps({"input": [answer, task]}).encode(), WIRE_FORMATS["openai_responses"])
    [turn] = asked_since(outline)
    assert [(part.role, part.text) for part in parts_of(turn, outline.wire_format)] == [("user", "Look")]


@pytest.mark.parametrize(
    ("sealed", "kind", "said"),
    [("Look at it", PartKind.TEXT, "Look at it"), ("gAAAAABo", PartKind.OTHER, '"encrypted_content":"gAAAAABo"')],
)
def test_what_codexs_agents_say_is_read_unless_it_is_encrypted(sealed: str, kind: PartKind, said: str) -> None:
    content = [{"type": "encrypted_content", "encrypted_content": sealed}]
    body = json.dumps({"input": [{"type": "agent_message", "author": "/root", "content": content}]}).encode()
    outline = outline_of(body, WIRE_FORMATS["openai_responses"])
    [part] = parts_of(outline.turns[0], outline.wire_format)
    assert (part.role, part.kind) == ("user", kind)
    assert said in part.text


def test_the_summary_of_a_conversation_that_was_shortened_is_read() -> None:
    sealed = json.dumps({"type": "compaction", "content": "Two files were written."})
    body = json.dumps({"input": [{"type": "compaction", "id": "cmp_1", "encrypted_content": sealed}]}).encode()
    outline = outline_of(body, WIRE_FORMATS["openai_responses"])
    [part] = parts_of(outline.turns[0], outline.wire_format)
    assert (part.role, part.kind, part.text) == ("assistant", PartKind.TEXT, "Two files were written.")


ODD = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"', b'{"messages":{"role":"user"}}', b'{"messages":3}',
    b'{"messages":[{"role"', b'{"messages":' + b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_an_odd_request_is_said_to_be_one(body: bytes) -> None:
    outline = outline_of(body, WIRE_FORMATS["openai_chat"])
    assert outline.is_odd
    assert outline.size == len(body)
    assert not outline.turns


def test_a_deep_turn_is_shown_as_it_is() -> None:
    deep = b"[" * 500 + b"]" * 500
    body = b'{"messages":[{"role":"user","content":' + deep + b'},{"role":"user","content":"Look"}]}'
    outline = outline_of(body, WIRE_FORMATS["openai_chat"])
    parts = [part for turn in outline.turns for part in parts_of(turn, outline.wire_format)]
    assert parts[-1].text == "Look"
    assert all(part.kind is PartKind.OTHER for part in parts[:-1])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**25) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "role type content parts text tool_calls function name arguments output image_url source data summary"
                " functionCall functionResponse response inlineData tools functionDeclarations call_id".split()
            )
            | st.text(max_size=4),
            inner
            | st.sampled_from(["tool", "user", "assistant", "message", "tool_result", "x_call", "x_output", "image"]),
            max_size=6,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=examples(30))
@given(turns=st.lists(ANYTHING, max_size=4), tools=ANYTHING, system=ANYTHING)
@pytest.mark.parametrize("name", WIRE_FORMATS)
def test_whatever_a_client_sends_is_read(name: str, turns: list[object], tools: object, system: object) -> None:
    wire_format = WIRE_FORMATS[name]
    body = json.dumps({wire_format.turns: turns, "tools": tools, wire_format.system or "-": system}).encode()
    outline = outline_of(body, wire_format)
    assert outline.is_odd or len(outline.turns) == len(turns)
    assert all(parts_of(turn, wire_format) for turn in outline.turns)
    assert isinstance(system_of(outline), str)
    assert all(isinstance(each, bytes) for each in tools_of(outline).values())
    tools_in(tools)
