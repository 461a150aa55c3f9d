"""What an answer says about itself: names and counts must be words and numbers, and text policies read all of it."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.policy import Policy
from streamviz.core.request import ModelCall
from streamviz.core.rerun import Recording, Rerun, chunks_of, rerun
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.beside import is_word
from streamviz.core.wire.envelope import Envelope
from streamviz.core.wire.vocabulary import VOCABULARY
from streamviz.policies import build
from tests.core.support import active
from tests.recordings import telling

SECRET, MAIL, TEXT = "sk-abc123DEF456ghi789JKLmno", "jane.roe@example.com", "Write to jane.roe@example.com and wait."
CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1}}
RESPONSE = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": []}
ITEM = {"type": "message", "id": "i", "role": "assistant", "content": []}
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def chat(name: str, value: Any) -> Any:
    return {**CHAT, "choices": [{"index": 0, "delta": {"content": "All is well."}}], name: value}


def chat_body(name: str, value: Any) -> Any:
    return {**CHAT, "choices": [{"index": 0, "message": {"content": "All is well."}}], name: value}


def choice(name: str, value: Any) -> Any:
    return {**CHAT, "choices": [{"index": 0, "delta": {"content": "All is well."}, name: value}]}


def chat_delta(name: str, value: Any) -> Any:
    return {**CHAT, "choices": [{"index": 0, "delta": {"content": "All is well.", name: value}}]}


def call(name: str, value: Any) -> Any:
    return {**CHAT, "choices": [{"index": 0, "delta": {"tool_calls": [{**CALL, name: value}]}}]}


def message_start(name: str, value: Any) -> Any:
    return {"type": "message_start", "message": {**MESSAGE, name: value}}


def message_delta(name: str, value: Any) -> Any:
    return {"type": "message_delta", "delta": {name: value}, "usage": {}}


def block(name: str, value: Any) -> Any:
    start = {"type": "tool_use", "id": "t", "name": "ls", "input": {}, name: value}
    return {"type": "content_block_start", "index": 0, "content_block": start}


def response(name: str, value: Any) -> Any:
    return {"type": "response.completed", "response": {**RESPONSE, name: value}}


def added(name: str, value: Any) -> Any:
    return {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, name: value}}


def text_delta(name: str, value: Any) -> Any:
    return {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "x", name: value}


def whole_item(name: str, value: Any) -> Any:
    return {**RESPONSE, "output": [{**ITEM, name: value}]}


def compaction(name: str, value: Any) -> Any:
    return {**RESPONSE, "output": [{"type": "compaction", "id": "c", "encrypted_content": "x", name: value}]}


def agent_message(name: str, value: Any) -> Any:
    said = {"type": "agent_message", "id": "a", "author": "/root", "recipient": "/root/a", "content": []}
    return {**RESPONSE, "output": [{**said, name: value}]}


def event(name: str, value: Any) -> Any:
    return {"type": "error", "error": {"type": "api_error", name: value}}


def candidates(name: str, value: Any) -> Any:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "All is well."}]}}], name: value}


def candidate(name: str, value: Any) -> Any:
    content = {"role": "model", "parts": [{"text": "All is well."}]}
    return {"candidates": [{"content": content, name: value}]}


def gemini_content(name: str, value: Any) -> Any:
    return {"candidates": [{"content": {"parts": [{"text": "All is well."}], name: value}}]}


def gemini_part(name: str, value: Any) -> Any:
    return {"candidates": [{"content": {"parts": [{"text": "All is well.", name: value}]}}]}


def gemini_call(name: str, value: Any) -> Any:
    call = {"name": "ls", "args": {}, name: value}
    return {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}


def gemini_own_call(name: str, value: Any) -> Any:
    call = {"toolType": "SEARCH", "args": {}, name: value}
    return {"candidates": [{"content": {"parts": [{"toolCall": call}]}}]}


PLACES: list[tuple[str, Any, str]] = [
    (format, make, name)
    for format, make, names in (
        ("openai_chat", chat, "id created model system_fingerprint service_tier usage provider error note x_groq"),
        ("openai_chat", chat_body, "id created model system_fingerprint service_tier usage provider error note"),
        ("openai_chat", choice, "finish_reason stop_reason native_finish_reason content_filter_results error"),
        ("openai_chat", chat_delta, "role note name provider_specific_fields"),
        ("openai_chat", call, "id extra_content note"),
        ("anthropic_messages", message_start, "id model stop_reason stop_sequence usage container stop_details"),
        ("anthropic_messages", message_delta, "stop_reason stop_sequence container stop_details"),
        ("anthropic_messages", block, "id caller"),
        ("anthropic_messages", event, "message type"),
        ("anthropic_messages", lambda name, value: {**MESSAGE, name: value}, "id model stop_sequence usage"),
        ("openai_responses", response, "id model instructions metadata tools text user previous_response_id error"),
        ("openai_responses", response, "usage service_tier incomplete_details prompt reasoning safety_identifier"),
        ("openai_responses", lambda name, value: {**RESPONSE, name: value}, "id instructions metadata tools error"),
        ("openai_responses", added, "id status phase note"),
        ("openai_responses", whole_item, "id status note"),
        ("openai_responses", compaction, "content note"),
        ("openai_responses", agent_message, "author recipient content note"),
        ("openai_responses", text_delta, "item_id obfuscation"),
        ("openai_responses", lambda name, value: {"type": "error", name: value}, "message code"),
        ("gemini", candidates, "responseId modelVersion usageMetadata promptFeedback createTime modelStatus error"),
        ("gemini", candidate, "finishReason finishMessage safetyRatings avgLogprobs tokenCount index note"),
        ("gemini", gemini_content, "role note"),
        ("gemini", gemini_part, "thought partMetadata videoMetadata mediaResolution note"),
        ("gemini", gemini_call, "id willContinue note"),
        ("gemini", gemini_own_call, "id toolType"),
    )
    for name in names.split()
]  # fmt: skip


async def run(format: str, payloads: list[Any], policy: Policy, mode: Mode = Mode.ENFORCE, **asked: Any) -> Rerun:
    is_body = (
        "candidates" not in payloads[0]
        and payloads[0].get("type", "message") == "message"
        and "delta" not in json.dumps(payloads[0])
    )
    raws = [json.dumps(each).encode() for each in payloads]
    stream = [Chunk(0, 0, raws[0], raws[0])] if is_body else chunks_of(b"".join(b"data: %b\n\n" % raw for raw in raws))
    recording = Recording(ModelCall(format, asked), stream, is_streaming=not is_body)
    return await rerun(recording, [active(policy, mode=mode)])


def sent(made: Rerun) -> bytes:
    return b"".join(frame.raw for frame in made.frames)


def redact() -> Policy:
    return build("redact", {"in": ["content", "tool_call"]})


def text_rule() -> Policy:
    return build("text_rule", {"patterns": ["jane.roe@"]})


MASKED: list[Any] = [
    SECRET,
    {"a": SECRET},
    MAIL,
    TEXT,
    [MAIL],
    {"a": {"b": MAIL}},
    {MAIL: 1},
    {"signature": {"b": MAIL}},
]
FORBIDDEN: list[Any] = [TEXT, [TEXT], {"a": {"b": MAIL}}, {TEXT: 1}]


@pytest.mark.parametrize(("format", "make", "name"), PLACES)
@pytest.mark.parametrize(
    ("policy", "values"), [(redact(), MASKED), (text_rule(), FORBIDDEN)], ids=["masked", "forbidden"]
)
async def test_nothing_that_is_masked_or_forbidden_goes_out_beside_an_answer(
    policy: Policy, values: list[Any], format: str, make: Any, name: str
) -> None:
    made = [await run(format, [make(name, value)], policy) for value in values]
    assert [value for value, each in zip(values, made, strict=True) if not each.state.contradiction or sent(each)] == []


@pytest.mark.parametrize("value", ["4111111111111111", 4111111111111111, [4111111111111111]], ids=repr)
async def test_numbers_are_read_where_they_can_be_anything(value: Any) -> None:
    assert (await run("openai_chat", [chat("usage", {"tokens": value})], redact())).state.contradiction


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("openai_chat", chat("id", "All the rest of the answer is in here.")),
        ("openai_chat", chat("usage", {"note": "Read this in place of it."})),
        ("openai_chat", choice("finish_reason", "as there was nothing left to say")),
        ("openai_chat", chat("provider", "a provider that has quite a lot to say of itself, has it not")),
        ("openai_chat", chat("system_fingerprint", "这里没有空格" * 20)),
        ("anthropic_messages", message_start("id", "a b")),
        ("anthropic_messages", message_delta("stop_reason", "that is all")),
        ("openai_responses", response("incomplete_details", {"reason": "here is more"})),
        ("openai_responses", text_delta("item_id", "here is more")),
    ],
)
def test_what_names_or_counts_is_a_word_or_a_number(format: str, payload: Any) -> None:
    aggregator = AGGREGATORS[format]()
    data = json.dumps(payload).encode()
    aggregator.aggregate(Chunk(0, 0, b"data: " + data, data))
    assert "where its format has none" in aggregator.state.contradiction


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("openai_chat", chat("provider", "Google AI Studio")),
        ("openai_chat", chat("provider", "Amazon Bedrock (us-east-1)")),
        ("openai_chat", chat("model", "@cf/meta/llama-3.3-70b-instruct-fp8-fast")),
        ("openai_chat", chat("model", "Llama 3.3 70B Instruct")),
        ("openai_chat", chat("model", "claude-3-5-sonnet@20241022")),
        ("openai_chat", chat("created", "2026-01-01 10:00:00.123 +00:00")),
        ("openai_chat", chat("created", 1_770_000_000_123_456)),
        ("openai_chat", chat("created", 1_770_000_000.5)),
        ("openai_chat", chat("usage", {"cost": 1e-7, "details": {"upstream": None, "unit": "usd/1M", "a": [0.5]}})),
        ("openai_chat", chat("usage", {"price": "0.00012", "plan": "https://example.com/plans?id=5&x=%20"})),
        ("openai_chat", chat("search_results", [{"title": "Ask jane.roe@example.com", "snippet": "All of it."}])),
        ("openai_chat", chat("moderation", {"note": "Nothing was found."})),
        ("openai_chat", chat("error", {"message": "Token limit reached"})),
        ("openai_chat", choice("finish_reason", "MAX_TOKENS")),
        ("openai_chat", call("extra_content", {"google": {"thought_signature": SECRET}})),
        ("anthropic_messages", message_start("id", "x" * 600)),
        ("anthropic_messages", message_delta("stop_sequence", "\n\nHuman:")),
        ("anthropic_messages", message_delta("stop_details", {"type": "refusal", "explanation": "It may do harm."})),
        ("openai_responses", response("instructions", "You answer questions concisely.")),
        ("openai_responses", response("error", {"code": "x", "message": "You exceeded your quota."})),
    ],
)  # fmt: skip
async def test_what_gateways_say_of_themselves_goes_on(format: str, payload: Any) -> None:
    for policy in (redact(), text_rule()):
        made = await run(format, [payload], policy)
        assert not made.state.contradiction
        assert json.dumps(payload).encode() in sent(made)


async def test_what_upstream_repeats_of_the_request_is_the_clients_own() -> None:
    tools = [{"type": "function", "name": "mail", "description": f"Writes to {MAIL}.", "parameters": {}}]
    asked: Any = {"model": "m", "instructions": TEXT, "tools": tools, "metadata": {"of": MAIL}, "user": MAIL}
    for policy in (redact(), text_rule()):
        told = {"type": "response.completed", "response": {**RESPONSE, **asked}}
        made = await run("openai_responses", [told], policy, **asked)
        assert not made.state.contradiction
        assert not made.judgements
    longer = {**RESPONSE, **asked, "instructions": f"{TEXT} And then?"}
    assert (await run("openai_responses", [longer], redact(), **asked)).state.contradiction


def test_of_a_response_that_is_sent_again_what_is_new_is_read() -> None:
    envelope = Envelope()

    def told(event: str, **members: Any) -> set[str]:
        payload = {"type": f"response.{event}", "response": {**RESPONSE, **members}}
        envelope.read_response(payload, event)
        return {each.text for each in envelope.take()}

    assert told("created", metadata={"of": MAIL}, user=None) >= {MAIL, "of"}
    assert told("in_progress", metadata={"of": MAIL}, user=None) == set()
    assert SECRET in told("completed", metadata={"of": SECRET}, user=None)
    assert TEXT in told("completed", metadata={"of": SECRET}, user=TEXT)
    assert told("completed", metadata={"of": SECRET}) == set()
    assert f"{TEXT}!" in told("completed", metadata={"of": SECRET}, user=f"{TEXT}!")


def test_what_a_format_has_in_each_answer_is_not_told() -> None:
    envelope = Envelope()
    usage = {"input_tokens": 10, "output_tokens_details": {"reasoning_tokens": 2}}
    told = {"id": "resp_1", "status": "completed", "text": {"format": {"type": "text"}}, "usage": usage, "Status": None}
    envelope.read_response({"type": "response.completed", "response": told}, "completed")
    assert [each.text for each in envelope.take()] == ["resp_1", "Status"]


def test_the_formats_words_are_words() -> None:
    assert {word for word in VOCABULARY if not is_word(word)} == set()


async def test_a_long_text_is_read_to_its_end() -> None:
    for padding in (3_990, 4_000, 20_000):
        made = await run("openai_responses", [response("instructions", "word " * (padding // 5) + MAIL)], redact())
        assert made.state.contradiction


async def test_what_clients_put_together_of_pieces_is_read_as_one() -> None:
    for name in ("note", "role"):
        pieces = [chat_delta(name, piece) for piece in (SECRET[:9], SECRET[9:], "x")]
        made = await run("openai_chat", pieces, redact())
        assert made.state.contradiction
        assert SECRET[9:].encode() not in sent(made)


async def test_what_agents_say_in_parts_is_read_as_one() -> None:
    parts = [{"type": "input_text", "text": piece} for piece in (SECRET[:9], SECRET[9:])]
    made = await run("openai_responses", [agent_message("content", parts)], redact())
    assert made.state.contradiction
    assert SECRET[9:].encode() not in sent(made)


async def test_it_says_who_found_what_and_does_not_say_it_again() -> None:
    made = await run("openai_responses", [response("id", SECRET)], redact())
    [judgement] = made.judgements
    assert judgement.verdict.decision is Decision.HALT
    assert judgement.verdict.evidence == {"label": "api key"}
    assert SECRET not in repr(judgement)
    assert SECRET not in made.state.contradiction


async def test_a_shadow_only_notes_it() -> None:
    payload = chat("id", SECRET)
    made = await run("openai_chat", [payload, payload], redact(), Mode.SHADOW)
    assert not made.state.contradiction
    assert sent(made).count(SECRET.encode()) == 2
    assert [each.verdict.decision for each in made.judgements if each.ordinal is None] == [Decision.HALT]


async def test_a_policy_for_other_texts_does_not_read_it() -> None:
    for policy in (build("redact", {"in": ["request"]}), build("text_rule", {"patterns": [MAIL], "in": ["thinking"]})):
        assert not (await run("openai_chat", [chat("user", TEXT)], policy)).state.contradiction


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses", "gemini"])
async def test_no_recorded_stream_says_anything_that_is_masked(format: str) -> None:
    for file in telling(format):
        recording = Recording(ModelCall(format, {}), chunks_of(file.read_bytes()), is_streaming=True)
        made = await rerun(recording, [active(redact()), active(text_rule(), name="text")])
        assert "forbids" not in made.state.contradiction, file.name
        assert "where its format has none" not in made.state.contradiction, file.name


@pytest.mark.parametrize(
    "other",
    [
        chat("warning", TEXT),
        choice("note", TEXT),
        choice("finish_reason", TEXT),
        chat_delta("role", TEXT),
        chat_delta("name", TEXT),
        chat_delta("note", TEXT),
        chat_delta("content", [{"type": "text", "text": "All is well.", "note": TEXT}]),
        {**CHAT, "choices": [{"index": 0, "delta": {"content": "All is well."}}] * 2, "note": TEXT},
        {**CHAT, "choices": [{"index": 0, "delta": {"content": "All"}}, {"index": 0, "delta": {"note": TEXT}}]},
    ],
)
def test_what_differs_from_chunks_that_only_add_text_is_read(other: Any) -> None:
    plain = chat("choices", [{"index": 0, "delta": {"content": "All is well."}}])
    envelope = Envelope()
    envelope.read_chat(plain)
    assert envelope.only_adds_text(plain)
    assert not envelope.only_adds_text(other)


@pytest.mark.parametrize("said", [{"index": TEXT}, {"finish_reason": TEXT}, {"logprobs": TEXT}, {"text": TEXT}])
def test_a_chunk_whose_choice_says_more_each_time_does_not_only_add_text(said: Any) -> None:
    payload = chat("choices", [{"index": 0, "delta": {"content": "All is well."}, **said}])
    envelope = Envelope()
    envelope.read_chat(payload)
    assert not envelope.only_adds_text(payload)
