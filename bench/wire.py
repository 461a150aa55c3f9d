"""The stream that every gateway carries in the benchmark, and the timestamps in it."""

import json
import re

CHUNKS = {"paced": 50, "long": 1_000, "story": 3_000, "flooding": 200}  # stamped chunks per stream
PACE_SECONDS = {"paced": 0.02, "long": 0.02, "story": 0.1}  # from one chunk to the next
_CHUNKS_A_LINE = 25  # 500 characters, a short paragraph
STAMP_DIGITS = 16
STAMP = re.compile(rb"@@(\d{16})")  # microseconds of the monotonic clock, which all processes of a machine share
_ARGUMENTS = ('{"', "city", '":"', "Par", "is", '","', "unit", '":"', "celsius", '"}')


def request_body(kind: str) -> bytes:
    """The body that clients send; `kind` is one of CHUNKS."""
    messages = [{"role": "user", "content": "Write a story about a proxy"}]
    return json.dumps({"model": f"openai/{kind}", "stream": True, "messages": messages}).encode()


def events(kind: str) -> list[bytes]:
    """The chunks of an answer as server-sent events: text, two tool calls, the finish, the end.

    The stamps are the chunks' numbers at first: LiteLLM aborts a stream whose chunks are all the same.
    """
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"content": stamp(number).decode() + _after(number)} for number in range(CHUNKS[kind])]
    for index in range(2):
        function = {"name": "get_weather", "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]}
        )
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in _ARGUMENTS]
    return [*(_event(delta, None) for delta in deltas), _event({}, "tool_calls"), b"data: [DONE]\n\n"]


def _after(number: int) -> str:
    """End of a chunk's text: with line breaks now and then, as in models' answers."""
    return " \n" if number % _CHUNKS_A_LINE == _CHUNKS_A_LINE - 1 else " l"


def stamp(microseconds: int) -> bytes:
    """The stamp of a chunk that was sent at that time."""
    return b"@@%0*d" % (STAMP_DIGITS, microseconds)


def _event(delta: dict[str, object], finish_reason: str | None) -> bytes:
    chunk = {
        "id": "chatcmpl-BxYz0123456789abcdefghijkl",
        "object": "chat.completion.chunk",
        "created": 1730000000,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }
    return b"data: %b\n\n" % json.dumps(chunk, separators=(",", ":")).encode()
