"""Whether the cost of a delta stays the same in a long stream: `python bench/linear.py`.

Times SSE parsing, aggregation and an empty policy chain for streams of 1,000 and of 100,000 deltas of each kind, best
of several rounds, and prints µs a delta and their ratio. Exits with 1 where a ratio is above 1.5.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable

from streamviz.core.aggregator import Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.policy import StreamingContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.sse import SSEParser
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer

SHORT, LONG, LIMIT, ROUNDS, READ = 1_000, 100_000, 1.5, 7, 16_384


def _call(number: int) -> dict[str, object]:
    return {"index": number, "id": f"id-{number}", "function": {"name": "f", "arguments": "{}"}}


DELTAS: dict[str, Callable[[int], dict[str, object]]] = {
    "content": lambda number: {"content": "word "},
    "thinking": lambda number: {"reasoning_content": "word "},
    "signatures": lambda number: {"reasoning_details": [{"data": "c2lnbmF0dXJl"}]},
    "one tool call": lambda number: {"tool_calls": [{"index": 0, "function": {"arguments": "word "}}]},
    "many tool calls": lambda number: {"tool_calls": [_call(number)]},
    "alternating": lambda number: {("content", "reasoning")[number % 2]: "word "},
}


def stream(kind: str, length: int) -> bytes:
    """The bytes of a stream with so many deltas of one kind."""
    payloads = ({"choices": [{"index": 0, "delta": DELTAS[kind](number)}]} for number in range(length))
    return b"".join(b"data: %b\n\n" % json.dumps(payload).encode() for payload in payloads)


async def take(data: bytes) -> None:
    """The way of a stream through the core, a socket read at a time."""
    parser, aggregator = SSEParser(), OpenAIChatAggregator()
    processor = StreamProcessor(PolicyChain([], OpenAIChatComposer(aggregator.head)).on_chunk, aggregator)
    context = StreamingContext("bench", lambda: 0)
    for start in range(0, len(data), READ):
        events = parser.feed(data[start : start + READ])
        await processor.take([Chunk(0, 0, event.raw, event.data, event.name) for event in events], context)
        context.outbox.clear()
    await processor.end(context)


def cost(kind: str, length: int) -> float:
    """µs of CPU a delta, best of several rounds; a short stream is repeated, so that both do the same work in all."""
    data = stream(kind, length)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(LONG // length // 10 or 1):
            asyncio.run(take(data))
        best = min(best, (time.process_time() - began) / (LONG // length // 10 or 1) / length)
    return best * 1e6


def main() -> int:
    worst = 0.0
    print(f"{'deltas':<18}{'at 1,000':>10}{'at 100,000':>12}{'ratio':>8}   (µs a delta)")
    for kind in DELTAS:
        short, long = cost(kind, SHORT), cost(kind, LONG)
        worst = max(worst, long / short)
        print(f"{kind:<18}{short:>10.2f}{long:>12.2f}{long / short:>8.2f}")
    return 1 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
