"""Whether the cost of policies grows only linearly with a stream: part of `python -m bench.linear`.

Feeds streams that make a lot of work for policies, in each wire format, to one enforced policy of each kind, at 1,000
to 8,000 pieces. Prints ms of CPU and the growth each time the stream doubles: 2 if the cost is linear.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.chain import PolicyChain
from streamviz.core.context import StreamingContext
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.judgements import ChainContext, ModelSaid
from streamviz.core.policy import ActivePolicy, Policy
from streamviz.core.processor import StreamProcessor
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Mode
from streamviz.core.wire import AGGREGATORS, COMPOSERS
from streamviz.policies import build

SIZES, LIMIT, ROUNDS = (1_000, 2_000, 4_000, 8_000), 3.0, 2
FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
SAID = '{"score": 0, "reason": "harmless"}'

Payloads = list[JsonObject]


class OnEachChunk(Policy):
    """A custom policy that looks at the chunks and lets all of them through."""

    kind = "on_chunk"
    parameters_schema = {}

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        if chunk is not None:
            context.send(chunk)


class HoldsAll(Policy):
    """A custom policy that holds every call and reads it as it grows."""

    kind = "holds_all"
    parameters_schema = {}

    def holds(self, block: StreamBlock) -> bool:
        return True

    def on_held(self, block: StreamBlock, context: StreamingContext) -> None:
        block.ending(100)


POLICIES: dict[str, Callable[[], Policy]] = {
    "tool_rule": lambda: build("tool_rule", {"names": ["rm"]}),
    "tool_rule, denies": lambda: build("tool_rule", {"names": ["run"]}),
    "cel_rule": lambda: build("cel_rule", {"expression": 'block.name == "rm"'}),
    "text_rule": lambda: build("text_rule", {"patterns": ["secret"], "replacement": "[gone]"}),
    "redact": lambda: build("redact", {}),
    "tool_schema": lambda: build("tool_schema", {"undeclared": "allow"}),
    "shell_rule": lambda: build("shell_rule", {"tools": ["run"]}),
    "llm_judge": lambda: build("llm_judge", {"model": "m", "instructions": "It destroys data."}),
    "limits": lambda: build("limits", {"stream": {"tool_calls": 10**6, "blocks": 10**6, "output_tokens": 10**9}}),
    "request_rule": lambda: build("request_rule", {"models": ["*"]}),
    "own on_chunk": lambda: OnEachChunk({}),
    "own, holds all": lambda: HoldsAll({}),
}


class Writer:
    """Payloads in one wire format. Places are counted from 0; each holds a text or a call."""

    def __init__(self, format: str) -> None:
        self.format = format

    def text(self, place: int, text: str) -> Payloads:
        """Another piece of a text."""
        if self.format == "openai_chat":
            return [_chat({"content": text})]
        if self.format == "anthropic_messages":
            return [_delta(place, {"type": "text_delta", "text": text})]
        if self.format == "gemini":
            return [_gemini({"text": text})]
        return [_told("output_text", place, text)]

    def call(self, place: int, arguments: str) -> Payloads:
        """The beginning of a call; in Gemini, the whole call in one piece."""
        if self.format == "gemini":
            return [_gemini(_gemini_call(place))]
        if self.format == "openai_chat":
            function = {"name": "run", "arguments": arguments}
            return [_chat({"tool_calls": [{"index": place, "id": f"c{place}", "function": function}]})]
        if self.format == "anthropic_messages":
            block = {"type": "tool_use", "id": f"c{place}", "name": "run", "input": {}}
            return [
                {"type": "content_block_start", "index": place, "content_block": block},
                *self.more(place, arguments),
            ]
        return [{"type": "response.output_item.added", "output_index": place, "item": _item(place, "")},
                *self.more(place, arguments)]  # fmt: skip

    def more(self, place: int, arguments: str) -> Payloads:
        """Another piece of a call."""
        if self.format == "openai_chat":
            return [_chat({"tool_calls": [{"index": place, "function": {"arguments": arguments}}]})]
        if self.format == "anthropic_messages":
            return [_delta(place, {"type": "input_json_delta", "partial_json": arguments})]
        return [_told("function_call_arguments", place, arguments)]

    def end_call(self, place: int, arguments: str) -> Payloads:
        """The end of a call, if the format has one."""
        if self.format in ("openai_chat", "gemini"):
            return []
        if self.format == "anthropic_messages":
            return [{"type": "content_block_stop", "index": place}]
        return [{"type": "response.output_item.done", "output_index": place, "item": _item(place, arguments)}]

    def long_call(self, pieces: Sequence[str]) -> Payloads:
        """A call with one long text as its argument."""
        if self.format == "gemini":
            return [_gemini({"functionCall": {"id": "c0", "name": "run", "args": {"a": "".join(pieces)}}})]
        more = [payload for piece in pieces for payload in self.more(0, piece)]
        whole = '{"a": "' + "".join(pieces) + '"}'
        return [*self.call(0, '{"a": "'), *more, *self.more(0, '"}'), *self.end_call(0, whole)]

    def at_once(self, count: int) -> JsonObject:
        """One event that contains `count` calls."""
        if self.format == "openai_chat":
            calls = [
                {"index": at, "id": f"c{at}", "function": {"name": "run", "arguments": "{}"}} for at in range(count)
            ]
            return _chat({"tool_calls": calls})
        if self.format == "anthropic_messages":
            content = [{"type": "tool_use", "id": f"c{at}", "name": "run", "input": {"a": 1}} for at in range(count)]
            return {"type": "message_start", "message": {"id": "m", "content": content}}
        if self.format == "gemini":
            return _gemini(*map(_gemini_call, range(count)))
        output = [_item(at, '{"a": 1}') for at in range(count)]
        return {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}}

    def end(self) -> Payloads:
        if self.format == "openai_chat":
            return [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]
        if self.format == "anthropic_messages":
            return [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
        if self.format == "gemini":
            return [{"candidates": [{"content": {"role": "model", "parts": []}, "index": 0, "finishReason": "STOP"}]}]
        return [{"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}]


def _chat(delta: JsonObject) -> JsonObject:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _gemini(*parts: JsonObject) -> JsonObject:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}]}


def _gemini_call(place: int) -> JsonObject:
    return {"functionCall": {"id": f"c{place}", "name": "run", "args": {}}}


def _delta(index: int, delta: JsonObject) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _told(word: str, place: int, text: str) -> JsonObject:
    at = {"output_index": place, "item_id": f"i{place}", "content_index": 0}
    return {"type": f"response.{word}.delta", **at, "delta": text}


def _item(place: int, arguments: str) -> JsonObject:
    common = {"type": "function_call", "id": f"i{place}", "call_id": f"c{place}", "name": "run"}
    return {**common, "arguments": arguments}


def _held_then_text(say: Writer, count: int) -> Payloads:
    return [*say.call(0, "{"), *(piece for _ in range(count) for piece in say.text(1, "word "))]


def _one_long_call(say: Writer, count: int) -> Payloads:
    return say.long_call(["word "] * count)


def _calls_behind_a_held_one(say: Writer, count: int) -> Payloads:
    behind = [piece for at in range(1, count) for piece in (*say.call(at, "{}"), *say.end_call(at, "{}"))]
    return [*say.call(0, "{}"), *behind, *say.end_call(0, "{}")]


def _calls_and_texts(say: Writer, count: int) -> Payloads:
    made: Payloads = []
    for at in range(0, count, 2):
        made += [*say.text(at, "some word "), *say.call(at + 1, "{}"), *say.end_call(at + 1, "{}")]
    return made


def _text(say: Writer, count: int) -> Payloads:
    return [piece for _ in range(count) for piece in say.text(0, "some words ")]


def _text_of_matches(say: Writer, count: int) -> Payloads:
    return [piece for _ in range(count) for piece in say.text(0, "secret: jane@example.com ")]


def _text_at_once(say: Writer, count: int) -> Payloads:
    return say.text(0, "secret: jane@example.com " * count)


def _calls_at_once(say: Writer, count: int) -> Payloads:
    return [say.at_once(count)]


STREAMS: dict[str, Callable[[Writer, int], Payloads]] = {
    "text": _text,
    "text of matches": _text_of_matches,
    "text at once": _text_at_once,
    "one long call": _one_long_call,
    "held, then text": _held_then_text,
    "calls behind one": _calls_behind_a_held_one,
    "calls and texts": _calls_and_texts,
    "calls at once": _calls_at_once,
}


def chunks(format: str, stream: str, count: int) -> list[Chunk]:
    """The chunks of a stream made of `count` pieces."""
    say = Writer(format)
    made: list[Chunk] = []
    for payload in [*STREAMS[stream](say, count), *say.end()]:
        data = encode(payload)
        made.append(Chunk(len(made), 0, b"data: " + data + b"\n\n", data, ""))
    return made


async def take(format: str, stream: Sequence[Chunk], policy: Policy) -> ChainContext:
    """Run a stream through the chain; judges answer one after the other, once all chunks have arrived."""
    aggregator = AGGREGATORS[format]()
    context = ChainContext("bench", lambda: 0, ModelCall(format, {"model": "m"}), state=aggregator.state)
    active = ActivePolicy(policy, "bench", 1, 1, Mode.ENFORCE)
    chain = PolicyChain([active], COMPOSERS[format](aggregator.head))
    processor = StreamProcessor(chain.on_chunk, aggregator, is_enforcing=True)
    await processor.take(stream, context)
    await processor.end(context)
    while context.questions:
        chain.answer(next(iter(context.questions)), ModelSaid(SAID), aggregator.state, context)
    return context


def cost(format: str, stream: str, kind: str, count: int) -> float:
    """ms of CPU, best of several rounds."""
    made = chunks(format, stream, count)
    best = float("inf")
    for _ in range(ROUNDS):
        policy = POLICIES[kind]()
        began = time.process_time()
        asyncio.run(take(format, made, policy))
        best = min(best, time.process_time() - began)
    return best * 1000


def worst_growth() -> float:
    """Measure and print everything; returns the largest ratio per doubling, averaged over all sizes."""
    worst = 0.0
    sizes = "".join(f"{size:>9,}" for size in SIZES)
    print(f"{'wire format':<20}{'stream':<18}{'policy':<19}{sizes}{'ratio':>8}   (ms; ratio a doubling)")
    for format in FORMATS:
        for stream in STREAMS:
            for kind in POLICIES:
                took = [cost(format, stream, kind, size) for size in SIZES]
                ratio = (took[-1] / took[0]) ** (1 / (len(SIZES) - 1))
                worst = max(worst, ratio)
                told = "".join(f"{each:>9.1f}" for each in took)
                print(f"{format:<20}{stream:<18}{kind:<19}{told}{ratio:>8.2f}", flush=True)
    return worst
