"""What providers answer, in each format, and how clients send it back: as the vendors' SDKs do, including ids."""

import itertools
import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What a model says: a text, and tool calls as pairs of name and arguments. `others` are the texts of a chat
    answer's further choices."""

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    others: tuple[str, ...] = ()


class Ids:
    """Ids as providers make them: unique, or counted from 0 by each provider."""

    def __init__(self, *, are_counted: bool = False) -> None:
        self._numbers = itertools.count()
        self._are_counted = are_counted

    def new(self, prefix: str) -> str:
        number = next(self._numbers)
        return f"{prefix}{number}" if self._are_counted else f"{prefix}{number * 7_919_777_777_777 + 0xA0B1C2:020x}Zq7"


def chat_body(said: Said, ids: Ids) -> Json:
    """A complete chat answer from OpenAI."""
    calls = [
        {"id": ids.new("call_"), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for name, given in said.calls
    ]
    message = {"role": "assistant", "content": said.text or None, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    choices += [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at, text in enumerate(said.others, 1)
    ]
    return {"id": ids.new("chatcmpl-"), "object": "chat.completion", "created": 1, "model": "m", "choices": choices}


def messages_body(said: Said, ids: Ids) -> Json:
    """A complete answer from Anthropic, with thinking first."""
    content: list[Json] = [{"type": "thinking", "thinking": "Let me see.", "signature": ids.new("sig")}]
    content += [{"type": "text", "text": said.text}] if said.text else []
    content += [
        {"type": "tool_use", "id": ids.new("toolu_"), "name": name, "input": given} for name, given in said.calls
    ]
    reason = "tool_use" if said.calls else "end_turn"
    head = {"id": ids.new("msg_"), "type": "message", "role": "assistant", "model": "m"}
    return {**head, "content": content, "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}}


def responses_body(said: Said, ids: Ids) -> Json:
    """A complete response from OpenAI, with reasoning first."""
    output: list[Json] = [{"type": "reasoning", "id": ids.new("rs_"), "summary": []}]
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        head = {"type": "message", "id": ids.new("msg_"), "role": "assistant", "status": "completed"}
        output.append({**head, "content": [part]})
    for name, given in said.calls:
        head = {"type": "function_call", "id": ids.new("fc_"), "call_id": ids.new("call_"), "status": "completed"}
        output.append({**head, "name": name, "arguments": json.dumps(given)})
    return {"id": ids.new("resp_"), "object": "response", "model": "m", "status": "completed", "output": output}


def gemini_body(said: Said, ids: Ids) -> Json:
    """A complete answer from Gemini, with a thought first; its calls have no ids."""
    parts: list[Json] = [{"text": "Let me see.", "thought": True}]
    parts += [{"text": said.text}] if said.text else []
    parts += [{"functionCall": {"name": name, "args": given}} for name, given in said.calls]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": ids.new("")}


BODIES = {
    "openai_chat": chat_body,
    "anthropic_messages": messages_body,
    "openai_responses": responses_body,
    "gemini": gemini_body,
}


def chat_turn(body: Json, choice: int = 0) -> Json:
    """The message that a client of OpenAI's chat sends back."""
    message: Json = body["choices"][choice]["message"]
    return message


def chat_results(body: Json, *texts: str) -> list[Json]:
    """The results of its calls."""
    calls = chat_turn(body)["tool_calls"]
    return [
        {"role": "tool", "tool_call_id": each["id"], "content": text} for each, text in zip(calls, texts, strict=True)
    ]


def messages_turn(body: Json, *, keeps_thinking: bool = True) -> Json:
    """The message that a client of Anthropic's sends back."""
    kept = [each for each in body["content"] if keeps_thinking or each["type"] != "thinking"]
    return {"role": "assistant", "content": kept}


def messages_results(body: Json, *texts: str) -> Json:
    """The results of its calls, in one message."""
    calls = [each for each in body["content"] if each["type"] == "tool_use"]
    parts = [
        {"type": "tool_result", "tool_use_id": each["id"], "content": [{"type": "text", "text": text}]}
        for each, text in zip(calls, texts, strict=True)
    ]
    return {"role": "user", "content": parts}


def responses_results(body: Json, *texts: str) -> list[Json]:
    """The results of its calls."""
    calls = [each for each in body["output"] if each["type"] == "function_call"]
    return [
        {"type": "function_call_output", "call_id": each["call_id"], "output": text}
        for each, text in zip(calls, texts, strict=True)
    ]


def gemini_turn(body: Json) -> Json:
    """The content that a client of Gemini's sends back."""
    content: Json = body["candidates"][0]["content"]
    return content


def gemini_results(body: Json, *texts: str) -> Json:
    """The results of its calls, in one content."""
    calls = [part["functionCall"] for part in gemini_turn(body)["parts"] if "functionCall" in part]
    parts = [
        {"functionResponse": {"name": each["name"], "response": {"output": text}}}
        for each, text in zip(calls, texts, strict=True)
    ]
    return {"role": "user", "parts": parts}


def without_ids(items: list[Json]) -> list[Json]:
    """An answer's items as clients send them back that store nothing at the provider."""
    return [{key: value for key, value in each.items() if key not in ("id", "status")} for each in items]
