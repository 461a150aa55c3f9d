"""A provider that plays an agent's model: it thinks, calls a tool of the client's five times, then answers.

`python -m tests.clients.provider PORT` serves OpenAI's chat completions and responses and Anthropic's messages. How far
a conversation is, is told by the results in its request alone, so that any number of agents may run beside each other.
Each request is a line of JSON on standard output.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from aiohttp import web

STEPS = 5
THOUGHT = "One more look at the folder, then I know."
ANSWER = "All five steps are done."
MODEL = "scripted-1"

Object = dict[str, Any]
# What the shell tools of coding agents are called, and how each is given a command.
SHELLS = {
    "Bash": lambda command: {"command": command, "description": "Look around"},
    "bash": lambda command: {"command": command, "description": "Look around"},
    "shell": lambda command: {"command": ["bash", "-lc", command]},
    "shell_command": lambda command: {"command": command},
    "exec_command": lambda command: {"cmd": command},
    "run_shell_command": lambda command: {"command": command},
    "look": lambda command: {"command": command},
}


@dataclass(frozen=True)
class Turn:
    """What the model does next: calls a tool, or answers where `name` is empty."""

    step: int
    name: str = ""
    arguments: str = ""
    nonce: str = field(default_factory=lambda: uuid4().hex[:8])

    @property
    def call_id(self) -> str:
        return f"call_{self.step}_{self.nonce}"


def turn_of(offered: list[str], results: int) -> Turn:
    """The turn behind so many results, with the first shell among the tools that the client offers."""
    shell = next((name for name in offered if name in SHELLS), "")
    if results >= STEPS or not shell:
        return Turn(results)
    return Turn(results, shell, json.dumps(SHELLS[shell](f"echo step {results + 1}")))


def halves(text: str) -> list[str]:
    """A text in two pieces, as it would be streamed."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def event(data: Object, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def chat(request: Object) -> Iterator[bytes]:
    """OpenAI's chat completions, with the reasoning of its imitators."""
    results = sum(message["role"] == "tool" for message in request["messages"])
    turn = turn_of([tool["function"]["name"] for tool in request.get("tools") or []], results)

    # Clients tell answers apart by their ids.
    head = {"id": f"chat_{uuid4().hex}", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: Object, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in halves(THOUGHT):
        yield chunk({"reasoning_content": piece})
    if turn.name:
        function = {"name": turn.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": turn.call_id, "type": "function", "function": function}]})
        for piece in halves(turn.arguments):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        for piece in halves(ANSWER):
            yield chunk({"content": piece})
    yield chunk({}, "tool_calls" if turn.name else "stop")
    if (request.get("stream_options") or {}).get("include_usage"):
        details = {"prompt_tokens_details": {"cached_tokens": 800}}
        usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020, **details}
        yield event({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def messages(request: Object) -> Iterator[bytes]:
    """Anthropic's messages."""
    said = [
        part for message in request["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    results = sum(part["type"] == "tool_result" for part in said)
    turn = turn_of([tool["name"] for tool in request.get("tools") or []], results)
    usage = {"input_tokens": 200, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    told = {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield event({"type": "message_start", "message": told}, "message_start")
    yield from _anthropic_block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        [
            *({"type": "thinking_delta", "thinking": piece} for piece in halves(THOUGHT)),
            {"type": "signature_delta", "signature": "c2lnbmVk"},
        ],
    )
    if turn.name:
        yield from _anthropic_block(
            1,
            {"type": "tool_use", "id": turn.call_id, "name": turn.name, "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in halves(turn.arguments)],
        )
    else:
        yield from _anthropic_block(
            1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in halves(ANSWER)]
        )
    delta = {"stop_reason": "tool_use" if turn.name else "end_turn", "stop_sequence": None}
    yield event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def _anthropic_block(index: int, block: Object, deltas: list[Object]) -> Iterator[bytes]:
    yield event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield event({"type": "content_block_stop", "index": index}, "content_block_stop")


def responses(request: Object) -> Iterator[bytes]:
    """OpenAI's responses."""
    given = request["input"] if isinstance(request["input"], list) else []
    results = sum(item.get("type") in ("function_call_output", "custom_tool_call_output") for item in given)
    turn = turn_of([tool["name"] for tool in request.get("tools") or [] if tool.get("type") == "function"], results)
    number = iter(range(1_000))

    def told(kind: str, **members: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(number), **members}, kind)

    summary = {"type": "summary_text", "text": THOUGHT}
    thought = {"type": "reasoning", "id": f"rs_{turn.step}", "summary": [summary], "encrypted_content": "c2VhbGVk"}
    response = {"id": f"resp_{uuid4().hex}", "object": "response", "created_at": 1, "model": MODEL, "output": []}
    yield told("response.created", response={**response, "status": "in_progress"})
    yield told("response.output_item.added", output_index=0, item={**thought, "summary": []})
    where = {"item_id": thought["id"], "output_index": 0, "summary_index": 0}
    yield told("response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""})
    for piece in halves(THOUGHT):
        yield told("response.reasoning_summary_text.delta", **where, delta=piece)
    yield told("response.reasoning_summary_text.done", **where, text=THOUGHT)
    yield told("response.reasoning_summary_part.done", **where, part=summary)
    yield told("response.output_item.done", output_index=0, item=thought)
    item: Object
    if turn.name:
        call = {"type": "function_call", "id": f"fc_{turn.step}", "call_id": turn.call_id, "name": turn.name}
        item = {**call, "arguments": turn.arguments, "status": "completed"}
        yield told(
            "response.output_item.added", output_index=1, item={**call, "arguments": "", "status": "in_progress"}
        )
        for piece in halves(turn.arguments):
            yield told("response.function_call_arguments.delta", item_id=item["id"], output_index=1, delta=piece)
        whole = {"item_id": item["id"], "output_index": 1, "arguments": turn.arguments, "name": turn.name}
        yield told("response.function_call_arguments.done", **whole)
    else:
        part = {"type": "output_text", "text": ANSWER, "annotations": []}
        item = {
            "type": "message",
            "id": f"msg_{turn.step}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        yield told("response.output_item.added", output_index=1, item={**item, "content": [], "status": "in_progress"})
        at = {"item_id": item["id"], "output_index": 1, "content_index": 0}
        yield told("response.content_part.added", **at, part={**part, "text": ""})
        for piece in halves(ANSWER):
            yield told("response.output_text.delta", **at, delta=piece)
        yield told("response.output_text.done", **at, text=ANSWER)
        yield told("response.content_part.done", **at, part=part)
    yield told("response.output_item.done", output_index=1, item=item)
    counts = {"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020}
    details = {"input_tokens_details": {"cached_tokens": 800}, "output_tokens_details": {"reasoning_tokens": 8}}
    done = {**response, "status": "completed", "output": [thought, item], "usage": {**counts, **details}}
    yield told("response.completed", response=done)


ANSWERS = {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages}


async def answer(request: web.Request) -> web.StreamResponse:
    """Any call, streamed."""
    body = await request.json()
    print(json.dumps({"path": request.path, "headers": dict(request.headers), "body": body}), flush=True)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for piece in ANSWERS[request.path](body):
        await response.write(piece)
    return response


if __name__ == "__main__":
    application = web.Application(client_max_size=2**26)
    application.add_routes([web.post(path, answer) for path in ANSWERS])
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
