"""redact: what other vendors' models have in the seals of OpenAI's format, where anyone can read it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import BlockScope
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Verdict
from streamviz.policies import build
from tests.core.support import active
from tests.exchange.support import JSON, Play
from tests.policies.support import context

KEY = "sk-proj-" + "Ab1_" * 12
MASK = "[api key removed]"
RESPONSE: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m"}


def compaction(summary: str) -> dict[str, Any]:
    sealed = json.dumps({"type": "compaction", "content": summary})
    return {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed}


def shortened(summary: str, *policies: Any, is_streaming: bool) -> Play:
    """What a client gets that asks for a shorter conversation."""
    chain = [each if isinstance(each, ActivePolicy) else active(each) for each in policies]
    play = Play("openai_responses", chain, is_streaming=is_streaming)
    item = compaction(summary)
    whole = {**RESPONSE, "status": "completed", "output": [item]}
    if not is_streaming:
        return play.opened(headers=JSON).received(json.dumps(whole).encode()).ended()
    play.opened()
    for event in (
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "encrypted_content": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ):
        play.received(f"data: {json.dumps(event)}\n\n".encode())
    return play.ended()


@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_summary_of_a_conversation_is_masked(is_streaming: bool) -> None:
    play = shortened(f"The key is {KEY}.", build("redact", {}), is_streaming=is_streaming)
    assert KEY.encode() not in play.sent
    sealed = {"type": "compaction", "content": f"The key is {MASK}."}
    assert play.sent.count(json.dumps(json.dumps(sealed))[1:-1].encode()) >= 1
    assert not play.stream.state.contradiction


@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_summary_does_not_go_out_if_the_policy_is_for_other_blocks_only(is_streaming: bool) -> None:
    scope = BlockScope(kinds=frozenset({BlockKind.CONTENT}))
    redact = replace(active(build("redact", {})), scope=scope)
    assert KEY.encode() not in shortened(KEY, redact, is_streaming=is_streaming).sent


@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_summary_with_nothing_to_mask_stays_as_it_is(is_streaming: bool) -> None:
    play = shortened("All is well.", build("redact", {}), is_streaming=is_streaming)
    assert json.dumps(compaction("All is well.")).encode() in play.sent


@pytest.mark.parametrize("is_streaming", [True, False])
def test_what_is_forbidden_in_a_summary_still_ends_the_answer(is_streaming: bool) -> None:
    policies = build("redact", {}), build("text_rule", {"patterns": ["secret word"]})
    assert b"secret word" not in shortened("The secret word.", *policies, is_streaming=is_streaming).sent


SIGNED = json.dumps([{"type": "thinking", "thinking": f"It is {KEY}.", "signature": "c2lnbmVk"}])


def thought(seal: str, text: str = f"It is {KEY}.") -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": seal}


@pytest.mark.parametrize("seal", [SIGNED, "sv-thinking:c2lnbmVk"])
def test_signed_thinking_that_would_be_masked_is_left_out(seal: str) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": KEY}
    kept = thought("sv-thinking:c2lnbmVk", "Fine.")
    asked = [{"role": "user", "content": "Hi"}, kept, call, result, kept, thought(seal), call]
    verdict = build("redact", {}).on_request(ModelCall("openai_responses", {"input": asked}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request == {"input": [asked[0], kept, call, {**result, "output": MASK}, call]}


def test_thinking_that_is_really_sealed_is_masked_and_stays() -> None:
    asked = {"input": [thought("gAAAAABo")]}
    verdict = build("redact", {}).on_request(ModelCall("openai_responses", asked), context())
    assert isinstance(verdict, Verdict)
    assert verdict.request == {"input": [thought("gAAAAABo", f"It is {MASK}.")]}
