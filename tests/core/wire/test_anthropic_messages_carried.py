"""What no verdict changes in a message stream stays upstream's: the SDK reads it as before, and nothing else."""

import json
from pathlib import Path
from typing import Any

import anthropic
import pytest

from streamviz.core.chain import PolicyChain
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from tests.core.sdk import MessagesReader
from tests.core.support import About, active, chunks, parse
from tests.core.wire import legal
from tests.core.wire.official import payloads
from tests.core.wire.test_anthropic_messages import begin, finish, grow, start, stop, text
from tests.core.wire.test_anthropic_messages_sdk import CALL, END, piece, tape_of
from tests.recordings import tags, telling

DENIED = Verdict(Decision.DENY, "no", "[denied]")
SAID = {"type": "text", "text": "[denied]"}
READER = MessagesReader()


def data_of(path: Path) -> bytes:
    return path.read_bytes()


async def through(tape: bytes, ordinal: int, verdict: Verdict = DENIED, body: JsonObject | None = None) -> bytes:
    """The client's tape with one block denied or replaced."""
    aggregator = AnthropicMessagesAggregator()
    composer = AnthropicMessagesComposer(aggregator.head) if body is None else AnthropicMessagesBodyComposer(body)
    context = ChainContext("run", lambda: 0)
    processor = StreamProcessor(PolicyChain([active(About(ordinal, verdict))], composer).on_chunk, aggregator)
    await processor.take(parse(tape) if body is None else chunks(body), context)
    await processor.end(context)
    return b"".join(frame.raw for frame in context.outbox)


def wanted(content: list[Any], denied: int) -> list[Any]:
    """The content without one block and, if that is a call, without its result."""
    id = content[denied].get("id") or "none"
    found: list[Any] = []
    for number, part in enumerate(content):
        if number != denied:
            found += [part] if part.get("tool_use_id") != id else []
        elif all(earlier["type"] != "tool_use" for earlier in content[:number]):
            # Providers reject text after a client's call.
            found.append(SAID)
    return found


def told(message: Any) -> Any:
    """The message as the SDK has it, without the fields that the SDK adds."""
    return json.loads(
        json.dumps(message, default=str), object_hook=lambda found: {k: v for k, v in found.items() if v is not None}
    )


@pytest.mark.parametrize("path", telling("anthropic_messages"), ids=lambda path: path.stem)
async def test_all_other_blocks_are_read_as_before(path: Path) -> None:
    tape = data_of(path)
    if "!error_event" in tags(path):
        # The SDK raises it, whatever went out before.
        with pytest.raises(anthropic.APIStatusError):
            READER.stream(await through(tape, 0))
        return
    before = told(READER.stream(tape))
    for denied in range(len(before["content"])):
        changed = await through(tape, denied)
        after = told(READER.stream(changed))
        if b"message_stop" in tape:
            legal.check_messages(payloads(changed))
        assert after["content"] == wanted(before["content"], denied), denied
        assert {**after, "content": 0, "stop_reason": 0} == {**before, "content": 0, "stop_reason": 0}
        calls = [part for part in after["content"] if part["type"] == "tool_use"]
        reason = before.get("stop_reason")
        assert after.get("stop_reason") == ("end_turn" if reason == "tool_use" and not calls else reason)


@pytest.mark.parametrize("path", telling("anthropic_messages"), ids=lambda path: path.stem)
async def test_whole_answers_say_what_streams_say(path: Path) -> None:
    aggregator = AnthropicMessagesAggregator()
    for chunk in parse(data_of(path)):
        aggregator.aggregate(chunk)
    body = aggregator.build()
    for denied in range(len(aggregator.state.blocks)):
        changed = json.loads(await through(b"", denied, body=body))
        assert changed["content"] == wanted(body["content"], denied)


RESULT = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
SERVER_CALL = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
SEARCH = [
    start(0, **SERVER_CALL), piece('{"q":"x"}'), stop(),
    {"type": "content_block_start", "index": 1, "content_block": RESULT}, stop(1),
    start(2), grow(2, type="citations_delta", citation={"url": "u"}), text("found", 2), stop(2),
]  # fmt: skip


async def test_the_result_of_a_call_that_was_denied_goes_with_it() -> None:
    tape = await through(tape_of(begin(), *SEARCH, finish(), END), 0)
    content = told(READER.stream(tape))["content"]
    assert content == [SAID, {"type": "text", "text": "found", "citations": [{"url": "u"}]}]


async def test_the_result_of_a_call_that_was_replaced_stays() -> None:
    tape = await through(tape_of(begin(), *SEARCH, finish(), END), 0, Verdict(Decision.REPLACE, "", '{"q":"y"}'))
    content = told(READER.stream(tape))["content"]
    assert content[:2] == [{**SERVER_CALL, "input": {"q": "y"}}, RESULT]


async def test_the_end_of_a_response_is_told_as_upstream_told_it() -> None:
    end = {"type": "message_delta", "usage": {"output_tokens": 3, "server_tool_use": {"web_search_requests": 1}},
           "delta": {"stop_reason": "tool_use", "stop_sequence": None, "container": {"id": "c"}},
           "context_management": {"applied_edits": []}}  # fmt: skip
    tape = await through(tape_of(begin(), start(**CALL), stop(), {**end, "also": "rm"}, END), 0)
    assert payloads(tape)[-2] == {**end, "delta": {**end["delta"], "stop_reason": "end_turn"}}


async def test_only_calls_of_the_clients_count_for_the_stop_reason() -> None:
    events = [start(**CALL), stop(), start(1, **{**SERVER_CALL, "id": "s2"}), stop(1)]
    tape = await through(tape_of(begin(), *events, finish("tool_use"), END), 0)
    assert payloads(tape)[-2]["delta"]["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([], "end_turn"),
        ([start(3, **{**SERVER_CALL, "id": "s2"}), stop(3)], "pause_turn"),
        ([start(3, **CALL), stop(3)], "pause_turn"),
    ],
)
async def test_a_turn_that_pauses_for_calls_that_were_all_denied_ends(more: list[Any], reason: str) -> None:
    tape = await through(tape_of(begin(), *SEARCH, *more, finish("pause_turn"), END), 0)
    assert payloads(tape)[-2]["delta"]["stop_reason"] == reason
    parts = [{**SERVER_CALL, "input": {"q": "x"}}, RESULT, *(each["content_block"] for each in more[:1])]
    body = {**begin()["message"], "content": parts, "stop_reason": "pause_turn"}
    assert json.loads(await through(b"", 0, body=body))["stop_reason"] == reason


async def test_what_else_upstream_writes_into_an_event_is_left_out() -> None:
    events = [start(**CALL), piece('{"cmd":"rm"}'), stop(), start(1), {**text("a", 1), "also": "rm"}, stop(1)]
    assert b'"rm"' not in await through(tape_of(begin(), *events, finish(), END), 0)


async def test_a_changed_block_of_a_whole_answer_keeps_nothing_beside_what_was_allowed() -> None:
    parts = [
        {"type": "text", "text": "my key", "citations": [{"cited_text": "my key"}], "logprobs": ["my key"]},
        {"type": "thinking", "thinking": "my key", "signature": "over my key", "display": "my key"},
        {**SERVER_CALL, "input": {"q": "my key"}, "said": "my key"},
    ]
    for number, part in enumerate(parts):
        body = {**begin()["message"], "content": [part], "stop_reason": "end_turn", "also": "my key"}
        verdict = Verdict(Decision.REPLACE, "", '{"q":"[masked]"}' if number == 2 else "[masked]")
        changed = await through(b"", 0, verdict, body)
        assert b"my key" not in changed
        assert b"[masked]" in changed


async def test_a_whole_answer_without_a_denied_call_has_no_result_of_it() -> None:
    body = {**begin()["message"], "content": [SERVER_CALL, RESULT, SAID], "stop_reason": "end_turn"}
    assert json.loads(await through(b"", 0, body=body))["content"] == [SAID, SAID]
