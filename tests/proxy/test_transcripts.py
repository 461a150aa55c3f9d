"""One normal form of a conversation, whatever the format and however a client sends it back."""

import json

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.json_value import encode
from streamviz.core.wire import WIRE_FORMATS
from streamviz.proxy.transcripts import Turn, answers_of, turns_backwards
from tests.conversations.providers import (
    BODIES,
    Ids,
    Json,
    Said,
    chat_turn,
    gemini_turn,
    messages_turn,
    without_ids,
)

SAID = Said("I'll look at it.\n", (("bash", {"command": "ls", "n": 1}), ("read", {"path": "é"})))


def _answer(format: str, said: Said) -> tuple[Turn, Json]:
    body = BODIES[format](said, Ids())
    raw = encode(body)
    aggregator = WIRE_FORMATS[format].aggregator()
    aggregator.aggregate(Chunk(0, 0, raw, raw))
    aggregator.close()
    [answer] = answers_of(aggregator.state.blocks)
    return answer, body


def _only(*items: Json) -> Turn:
    [turn] = turns_backwards(list(items))
    return turn


def _repeated(format: str, body: Json) -> list[list[Json]]:
    """The ways in which clients of a format send an answer back."""
    if format == "openai_chat":
        turn = chat_turn(body)
        parts = [{"type": "text", "text": turn["content"]}] if turn["content"] else []
        return [[turn], [{**turn, "content": parts, "reasoning_content": "Hm."}], [{**turn, "name": "agent"}]]
    if format == "anthropic_messages":
        turn = messages_turn(body)
        cached = [{**part, "cache_control": {"type": "ephemeral"}} for part in turn["content"]]
        # pydantic-ai turns unsigned thinking into text like this.
        told = [{"type": "text", "text": "<think>\nLet me see.\n</think>"}, *turn["content"][1:]]
        return [
            [turn],
            [messages_turn(body, keeps_thinking=False)],
            *[[{**turn, "content": each}] for each in (cached, told)],
        ]
    if format == "gemini":
        turn = gemini_turn(body)
        return [[turn], [{**turn, "parts": turn["parts"][1:]}]]
    return [body["output"], without_ids(body["output"]), body["output"][1:]]


@pytest.mark.parametrize("format", BODIES)
@pytest.mark.parametrize("said", [SAID, Said("", SAID.calls), Said("Done."), Said("", (("now", {}),))], ids=str)
def test_a_client_repeats_what_was_answered(format: str, said: Said) -> None:
    answer, body = _answer(format, said)
    for items in _repeated(format, body):
        turn = _only(*items)
        assert (turn.is_answer, turn.said) == (True, answer.said)
        assert turn.weight > 0


def test_gemini_parts_are_written_in_two_ways() -> None:
    call, result = {"id": "c", "name": "ls", "args": {"n": 1}}, {"id": "c", "name": "ls", "response": {"output": "a"}}
    camel = [{"functionCall": call}, {"functionResponse": result}, {"inlineData": {"data": "iVBORw0"}}]
    snake = [{"function_call": call}, {"function_response": result}, {"inline_data": {"data": "iVBORw0"}}]
    one, other = (_only({"role": "model", "parts": parts}) for parts in (camel, snake))
    assert one.calls == other.calls
    assert one.said == other.said
    assert one.said != _only({"role": "model", "parts": [{"text": ""}]}).said


def test_answers_are_alike_in_all_formats() -> None:
    assert len({_answer(format, SAID)[0].said for format in BODIES}) == 1


def test_what_is_said_otherwise_is_another_turn() -> None:
    turns = [
        Said("Done"),
        Said("Done."),
        Said("", (("Done.", {}),)),
        Said("", (("a", {"b": 1}),)),
        Said("", (("a", {"b": 2}),)),
    ]
    assert len({_answer("openai_chat", said)[0].said for said in turns}) == len(turns)


def test_of_a_long_text_its_ends_and_its_length_count() -> None:
    long = "a" * 10_000
    texts = [long, long + "a", "b" + long[1:], long[1:] + "b"]
    turns = [_only({"role": "user", "content": text}) for text in texts]
    assert len({turn.said for turn in turns}) == len(texts)
    assert all(len(turn.said) < 5_000 for turn in turns)


def test_words_of_the_client_are_no_words_of_the_person() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\nIt is Monday.\n</system-reminder>"}
    with_it = _only({"role": "user", "content": [reminder, {"type": "text", "text": "Mend it."}]})
    assert with_it.said == _only({"role": "user", "content": "Mend it."}).said


def test_what_stands_over_the_turns_is_none() -> None:
    told = [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, {"role": "user", "content": "c"}]
    assert [turn.texts for turn in turns_backwards(told)] == [["c"]]


def test_what_another_agent_of_codexs_says_is_no_answer() -> None:
    task = {"type": "encrypted_content", "encrypted_content": "Mend it."}
    turn = _only({"type": "agent_message", "author": "/root", "recipient": "/root/one", "content": [task]})
    assert (turn.is_answer, turn.texts) == (False, ["Mend it."])


def test_images_tell_turns_apart() -> None:
    def seen(data: str) -> bytes:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return _only({"role": "user", "content": [{"type": "image", "source": source}]}).said

    assert seen("a" * 50_000) != seen("a" * 49_999 + "b")


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        7,
        [None, 7, "x", [], {}],
        [{"role": ["user"], "content": {"a": 1}}, {"type": 7, "content": [[], 7, None, {"type": ["text"]}]}],
        [
            {
                "role": "assistant",
                "tool_calls": [7, {"function": 7, "id": 7}, {"function": {"name": [], "arguments": [1]}}],
            }
        ],
        [{"role": "user", "content": [{"type": "tool_result", "content": {"a": 1}, "tool_use_id": {}}] * 3}],
        [{"type": "function_call", "arguments": "{" * 1000, "name": None, "call_id": []}],
        [{"role": "model", "parts": [{"functionCall": 7, "functionResponse": {"response": {"a": [1]}}, "text": 7}]}],
        [{"role": "user", "content": "\ud800"}],
    ],
    ids=str,
)
def test_anything_can_be_read(hostile: object) -> None:
    assert all(isinstance(turn.said, bytes) for turn in turns_backwards(hostile))


def test_of_the_arguments_in_a_turn_so_many_are_read() -> None:
    turn = Turn(is_answer=True)
    for _ in range(6):
        turn.call("f", f'{{"a": "{"x" * 200_000}"}}', "c")
    assert [len(call) > 10 for call in turn.calls] == [True] * 4 + [False] * 2
    odd = Turn(is_answer=True)
    odd.call("f", f"[{'NaN,' * 60_000}NaN]", "c")
    assert odd.calls[0].startswith("f\x1f[NaN,NaN")


FENCED = "<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n{}\n<<<END_QUOTED_AGENT_CONTENT>>>"
CALLED = {"functionCall": {"name": "read", "args": {"path": "it's", "n": 1}}}
ANSWERED = {"functionResponse": {"response": {"result": None}}}
RETOLD = [
    ("said:\n" + FENCED.format("I'll look.\n"), {"text": "I'll look.\n"}),
    ("said: I'll look.", {"text": "I'll look."}),
    ("called tool `read` with parameters:\n" + FENCED.format("{'n': 1, 'path': \"it's\"}"), CALLED),
    ('called tool `read` with parameters: {"path":"it\'s","n":1}', CALLED),
    ("`read` tool returned result:\n" + FENCED.format("{'result': None}"), ANSWERED),
    ('tool `read` returned result: {"result":null}', ANSWERED),
]


@pytest.mark.parametrize(("told", "part"), RETOLD)
def test_what_adk_tells_of_another_agent_is_what_that_agent_said(told: str, part: Json) -> None:
    first = _only({"role": "user" if "functionResponse" in part else "model", "parts": [part]})
    opening = {"text": "For context: below is a transcript of what another agent did."}
    thought = {"text": "Let me see.", "thought": True}
    retold = _only({"role": "user", "parts": [opening, thought, {"text": f"[lead] {told}"}]})
    assert (retold.said, retold.is_answer) == (first.said, first.is_answer)


@pytest.mark.parametrize(("told", "part"), RETOLD)
def test_what_adk_tells_in_chat_is_what_the_other_agent_said_there(told: str, part: Json) -> None:
    given = json.dumps(CALLED["functionCall"]["args"])
    calls = [{"id": "1", "function": {"name": "read", "arguments": given}}] if "functionCall" in part else []
    first: Json = {"role": "assistant", "content": part.get("text"), "tool_calls": calls}
    if "functionResponse" in part:
        first = {"role": "tool", "tool_call_id": "1", "content": '{"result": null}'}
    texts = ["For context:", f"[lead] {told}"]
    assert [(turn.said, turn.is_answer) for turn in _turns(*texts)] == [(_only(first).said, _only(first).is_answer)]


def _turns(*texts: str) -> list[Turn]:
    """The turns in a message of a user with several parts."""
    content = [{"type": "text", "text": text} for text in texts]
    return list(turns_backwards([{"role": "user", "content": content}]))[::-1]


def test_a_message_with_several_of_adks_turns_is_taken_apart() -> None:
    """LiteLLM joins a user's turns for Anthropic."""
    told = [("For context:", "[lead] said: Look."), ("For context:", "[lead] said: I look.", "[lead] said: Done.")]
    turns = _turns("Mend it.", *told[0], *told[1], "And the other one.", "For context:", "Mend that, too.")
    expected = [("Mend it.", False), ("Look.", True), ("I look.Done.", True), ("And the other one.", False)]
    assert [(turn.text, turn.is_answer) for turn in turns] == [*expected, ("For context:Mend that, too.", False)]


@pytest.mark.parametrize(
    "what", ["1j", "{1: 2j}", "9" * 400, "[" * 400, "-" * 1_000 + "1", "{'a'", "x" * 9_000, "{...}"]
)
def test_what_adk_tells_of_a_call_may_be_no_literal(what: str) -> None:
    told = {"text": f"[lead] called tool `read` with parameters: {what}"}
    assert _only({"role": "user", "parts": [{"text": "For context:"}, told]}).is_answer


@pytest.mark.parametrize(("parts", "is_read"), [(1, True), (60, False)])
def test_what_adk_tells_of_calls_is_read_within_limits_for_all_of_a_message(parts: int, is_read: bool) -> None:
    """Many long arguments would take seconds."""
    arguments = {"path": "a" * 100}
    [turn] = _turns("For context:", *[f"[lead] called tool `read` with parameters: {arguments}"] * parts)
    assert (turn.calls[0] == f"read\x1f{encode(arguments).decode()}") is is_read


def test_thinking_is_not_taken_for_what_adk_tells() -> None:
    assert not _only({"role": "user", "parts": [{"text": "For context:", "thought": True}]}).texts


def test_a_persons_words_are_not_taken_for_what_adk_tells() -> None:
    texts = ["For context: [lead] said: Yes."], ["Look:", "[lead] said: Yes."], ["For context:", "I said: Yes."]
    for each in texts:
        assert not _only({"role": "user", "parts": [{"text": text} for text in each]}).is_answer
