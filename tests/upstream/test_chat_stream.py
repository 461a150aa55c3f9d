"""LiteLLM's chunks as one typed chunk, its chat streams without their overhead, and its accumulator as a client."""

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk

from streamviz.core.verdicts import Decision, Verdict
from streamviz.upstream.chat_chunk import typed_chunk
from streamviz.upstream.chat_stream import ChatStream
from streamviz.upstream.lite import litellm
from tests.core.support import About, active, delta, run
from tests.core.wire.official import payloads
from tests.simulator.process import Simulator

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

PAYLOAD: dict[str, Any] = {
    "id": "chatcmpl-7",
    "object": "chat.completion.chunk",
    "created": 17,
    "model": "m",
    "system_fingerprint": "fp_1",
    "x_new": {"deep": [1]},
    "choices": [{"index": 0, "delta": {"content": "Hi", "x_delta": 1}, "finish_reason": None, "x_choice": True}],
}
KINDS = {
    "a dictionary": dict,
    "the SDK's own": ChatCompletionChunk.model_validate,
    "LiteLLM's": lambda payload: litellm.ModelResponseStream(**payload),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_every_field_is_kept_in_whatever_object_the_chunk_comes(kind: Any) -> None:
    chunk = typed_chunk(kind(PAYLOAD))
    assert (chunk.id, chunk.created, chunk.model, chunk.usage) == ("chatcmpl-7", 17, "m", None)
    assert chunk.unknown["x_new"] == {"deep": [1]}
    [choice] = chunk.choices
    assert choice["delta"] == {"content": "Hi", "x_delta": 1}
    written = json.loads(chunk.json())
    assert written["system_fingerprint"] == "fp_1"
    assert written["choices"][0]["finish_reason"] is None
    assert written["object"] == "chat.completion.chunk"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_id_and_created_can_be_overridden(kind: Any) -> None:
    chunk = typed_chunk(kind(PAYLOAD), id="mine", created=0)
    assert (chunk.id, chunk.created) == ("mine", 0)
    assert json.loads(chunk.json())["id"] == "mine"


@pytest.mark.parametrize(
    "payload", [{}, {"choices": None, "id": 7, "created": "x", "usage": []}, None, {"choices": [7]}]
)
def test_what_is_no_chunk_is_an_empty_one(payload: Any) -> None:
    assert typed_chunk(payload).choices == []
    assert typed_chunk(payload).usage is None


async def opened(simulator: Simulator, provider: str, model: str, **more: Any) -> litellm.CustomStreamWrapper:
    url = simulator.url if provider == "anthropic" else f"{simulator.url}/v1"
    said = [{"role": "user", "content": "Hello"}]
    answer = await litellm.acompletion(
        model=f"{provider}/{model}", api_base=url, api_key="test", messages=said, stream=True, **more
    )
    assert isinstance(answer, litellm.CustomStreamWrapper)
    return answer


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("has_usage", [True, False])
async def test_nothing_of_a_long_stream_stays_in_memory(simulator: Simulator, provider: str, has_usage: bool) -> None:
    more = {"stream_options": {"include_usage": True}} if has_usage else {}
    wrapper = await opened(simulator, provider, "content?chunks=500&seed=3", **more)
    kept, usage, ids = [], [], set()
    async for chunk in ChatStream(wrapper, choices=1, has_usage=has_usage):
        kept.append(len(wrapper.chunks))
        usage += [chunk.usage] if chunk.usage else []
        ids.add((chunk.id, chunk.created))
    assert len(kept) > 500
    assert max(kept) < 5
    assert len(usage) == has_usage
    assert len(ids) == 1


async def test_thinking_that_is_allowed_stays_as_litellm_has_it() -> None:
    """LiteLLM's accumulator reads it the same, whatever became of earlier thinking."""
    first, second = ({"reasoning_content": text, "thinking_blocks": [{"type": "thinking", "thinking": text}]}
                     for text in ("bad", "good"))  # fmt: skip
    sign = {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s2"}]}
    stream = [delta(**first), delta(content="a"), delta(**second), delta(**sign), delta(finish="stop")]
    it = await run([active(About(0, Verdict(Decision.DENY, "", "[gone]")))], *stream)
    made: Any = litellm.stream_chunk_builder([litellm.ModelResponseStream(**each) for each in payloads(it.tape)])
    message = made.choices[0].message
    assert message.reasoning_content == "good"
    assert [(each["thinking"], each["signature"]) for each in message.thinking_blocks] == [("good", "s2")]
    assert "bad" not in str(made)
