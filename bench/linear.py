"""Whether the cost of a delta stays constant in a long stream: `python -m bench.linear`.

Times SSE parsing, aggregation and an empty policy chain for streams of 1,000 and of 100,000 deltas, for each kind of
delta in each wire format, taking the best of several rounds, and prints µs per delta and the ratio of the two. Then
does the same with policies (`bench/linear_policies.py`). Exits with 1 if a ratio is above 1.5, or, with policies, above
3 per doubling.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable

from bench import linear_policies
from streamviz.core.aggregator import Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.sse import SSEParser
from streamviz.core.wire import AGGREGATORS, COMPOSERS

SHORT, LONG, LIMIT, ROUNDS, READ = 1_000, 100_000, 1.5, 3, 16_384

Make = Callable[[int], JsonObject]


def _chat(delta: Callable[[int], JsonObject]) -> Make:
    return lambda number: {"choices": [{"index": 0, "delta": delta(number)}]}


def _call(number: int) -> JsonObject:
    return {"index": number, "id": f"id-{number}", "function": {"name": "f", "arguments": "{}"}}


def _messages(index: Callable[[int], int], field: str, kind: str) -> Make:
    return lambda number: {
        "type": "content_block_delta",
        "index": index(number),
        "delta": {"type": kind, field: "word "},
    }


def _responses(kind: str, output_index: Callable[[int], int]) -> Make:
    return lambda number: {
        "type": f"response.{kind}.delta",
        "sequence_number": number,
        "item_id": f"item-{output_index(number)}",
        "output_index": output_index(number),
        "content_index": 0,
        "delta": "word ",
    }


def _by_turns(*made: Make) -> Make:
    return lambda number: made[number % len(made)](number)


def _thinking_told_again(number: int) -> JsonObject:
    return {"type": "response.reasoning_summary_text.done", "item_id": "item-0", "output_index": 0, "text": ""}


def _message_told_again(number: int) -> JsonObject:
    item = {"type": "message", "id": "item-0", "role": "assistant", "content": []}
    return {"type": "response.output_item.done", "output_index": 0, "item": item}


def _part(number: int) -> JsonObject:
    at = {"output_index": 0, "item_id": "item-0", "content_index": number}
    return {"type": "response.output_text.delta", **at, "delta": "word "}


def _usage(number: int) -> JsonObject:
    return {"type": "message_delta", "delta": {}, "usage": {f"count_{number}": number}}


def _new_choice(number: int) -> JsonObject:
    return {"choices": [{"index": number + 1, "delta": {"content": "word "}, "finish_reason": "stop"}]}


def _new_candidate(number: int) -> JsonObject:
    return {"candidates": [{"index": number + 1, "finishReason": "STOP"}]}


def _gemini(part: Callable[[int], JsonObject]) -> Make:
    return lambda number: {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part(number)]}}]}


def _first(number: int) -> int:
    return 0


def _own(number: int) -> int:
    return number


DELTAS: dict[str, dict[str, Make]] = {
    "openai_chat": {
        "content": _chat(lambda number: {"content": "word "}),
        "thinking": _chat(lambda number: {"reasoning_content": "word "}),
        "signatures": _chat(lambda number: {"reasoning_details": [{"data": "c2lnbmF0dXJl"}]}),
        "one tool call": _chat(lambda number: {"tool_calls": [{"index": 0, "function": {"arguments": "word "}}]}),
        "many tool calls": _chat(lambda number: {"tool_calls": [_call(number)]}),
        "a name in pieces": _chat(lambda number: {"tool_calls": [{"index": 0, "function": {"name": f"n{number}."}}]}),
        "alternating": _chat(lambda number: {("content", "reasoning")[number % 2]: "word "}),
        "many choices": _new_choice,
    },
    "anthropic_messages": {
        "content": _messages(_first, "text", "text_delta"),
        "thinking": _messages(_first, "thinking", "thinking_delta"),
        "one tool call": _messages(_first, "partial_json", "input_json_delta"),
        "many tool calls": _messages(_own, "partial_json", "input_json_delta"),
        "usage": _usage,
    },
    "openai_responses": {
        "content": _responses("output_text", _first),
        "thinking": _responses("reasoning_summary_text", _first),
        "one tool call": _responses("function_call_arguments", _first),
        "many tool calls": _responses("function_call_arguments", _own),
        "many parts": _by_turns(_part, _message_told_again),
        "thinking again": _by_turns(_responses("reasoning_summary_text", _first), _thinking_told_again),
    },
    "gemini": {
        "content": _gemini(lambda number: {"text": "word "}),
        "thinking": _gemini(lambda number: {"text": "word ", "thought": True}),
        "many tool calls": _gemini(lambda number: {"functionCall": {"name": "f", "args": {"at": number}}}),
        "alternating": _gemini(lambda number: {"text": "word ", "thought": number % 2 == 1}),
        "many candidates": _new_candidate,
    },
}


def stream(make: Make, length: int) -> bytes:
    """The bytes of a stream with `length` deltas of one kind."""
    return b"".join(b"data: %b\n\n" % json.dumps(make(number)).encode() for number in range(length))


async def take(wire_format: str, data: bytes) -> None:
    """Run a stream through the core, one socket read at a time."""
    parser, aggregator = SSEParser(), AGGREGATORS[wire_format]()
    chain = PolicyChain([], COMPOSERS[wire_format](aggregator.head))
    processor = StreamProcessor(chain.on_chunk, aggregator)
    context = ChainContext("bench", lambda: 0)
    for start in range(0, len(data), READ):
        events = parser.feed(data[start : start + READ])
        await processor.take([Chunk(0, 0, event.raw, event.data, event.name) for event in events], context)
        context.outbox.clear()
    await processor.end(context)


def cost(wire_format: str, make: Make, length: int) -> float:
    """µs of CPU per delta, best of several rounds; a short stream is repeated to equal the work of a long one."""
    data = stream(make, length)
    repeats = LONG // length // 10 or 1
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(repeats):
            asyncio.run(take(wire_format, data))
        best = min(best, (time.process_time() - began) / repeats / length)
    return best * 1e6


def main() -> int:
    gc.set_threshold(20_000, 20, 20)  # as in the server
    worst = 0.0
    print(f"{'wire format':<20}{'deltas':<18}{'at 1,000':>10}{'at 100,000':>12}{'ratio':>8}   (µs per delta)")
    for wire_format, kinds in DELTAS.items():
        for kind, make in kinds.items():
            short, long = cost(wire_format, make, SHORT), cost(wire_format, make, LONG)
            worst = max(worst, long / short)
            print(f"{wire_format:<20}{kind:<18}{short:>10.2f}{long:>12.2f}{long / short:>8.2f}", flush=True)
    growth = linear_policies.worst_growth()
    return 1 if worst > LIMIT or growth > linear_policies.LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
