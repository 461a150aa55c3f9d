"""Streams and whole answers as upstreams send them, with a forbidden call or text hidden somewhere."""

import random
from collections.abc import Callable
from typing import Any

from tests.core.words import OTHERS

Payload = dict[str, Any]


class Chance(random.Random):
    """A random generator that also says what to hide: a call of `tool` with `mark` in its arguments, or a text with
    `mark`, in a format with these `words`."""

    words = OTHERS

    tool = "run_shell"
    mark = "jane.roe@example.com"


def cut(text: str, chance: Chance) -> list[str]:
    """A text split into pieces: whole, into a few, or into single characters."""
    if chance.random() < 0.2:
        return list(text)
    places = sorted(chance.sample(range(1, len(text)), chance.randint(0, min(3, len(text) - 1))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _arguments(chance: Chance) -> str:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in chance.mark)
    command = chance.choice([chance.mark, chance.mark, escaped])
    return chance.choice([
        f'{{"command": "{command}"}}', f'{{"command":"ls","command":"{command}"}}', f'{{"comm\\u0061nd": "{command}"}}',
        f' {{"command": "{command}"}} ', f'{{"command": "{command}"', f'{{"command": "{command}",}}',
        f'[{{"command": "{command}"}}]',
    ])  # fmt: skip


def _text(chance: Chance) -> str:
    return chance.choice(["", "Write to "]) + chance.mark + chance.choice(["", ".", " and wait."])


def _shuffled(runs: list[list[Payload]], chance: Chance) -> list[Payload]:
    """The runs interleaved, each in its own order."""
    made: list[Payload] = []
    runs = [list(run) for run in runs if run]
    while runs:
        run = chance.choice(runs) if chance.random() < 0.5 else runs[0]
        made.append(run.pop(0))
        runs = [run for run in runs if run]
    return made


def _chat_chunk(delta: Payload, choice: Any = 0, finish: str | None = None) -> Payload:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def _chat_stream(chance: Chance, is_call: bool) -> list[Payload]:
    choice = chance.choice([0, 0, 0, 0, 1])
    hidden = _chat_call(chance, choice) if is_call else _chat_text(chance, choice)
    harmless = [_chat_chunk({"tool_calls": [_chat_piece(chance.choice([0, 1, 5]), "call_ok", "list", "{}")]})]
    plain = [_chat_chunk({"content": piece}, choice) for piece in cut("All is well.", chance)]
    runs = [run for run in (hidden, harmless, plain) if run is hidden or chance.random() < 0.4]
    chance.shuffle(runs)
    finish = [_chat_chunk({}, choice, chance.choice(["tool_calls", "stop", "length"]))] if chance.random() < 0.8 else []
    start = [_chat_chunk({"role": "assistant", "content": chance.choice([None, ""])}, choice)]
    return start * chance.randint(0, 1) + _shuffled(runs, chance) + finish


def _chat_piece(index: Any, id: str | None, name: str | None, arguments: str | None) -> Payload:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    piece: Payload = {"index": index, "id": id, "type": "function", "function": function}
    return {key: value for key, value in piece.items() if value is not None}


def _chat_call(chance: Chance, choice: int) -> list[Payload]:
    index, id = chance.choice([0, 0, 1, 3]), "call_1"
    names = cut(chance.tool, chance) if chance.random() < 0.3 else [chance.tool]
    pieces = [_chat_piece(index, None, None, part) for part in cut(_arguments(chance), chance)]
    for at, name in enumerate(names):
        where = chance.randint(0, len(pieces)) if chance.random() < 0.3 else at
        pieces.insert(where, _chat_piece(index, id if at == 0 or chance.random() < 0.2 else None, name, None))
    if chance.random() < 0.15:
        return [_chat_chunk({"function_call": piece["function"]}, choice) for piece in pieces]
    if chance.random() < 0.1:
        return [_chat_chunk({"tool_calls": pieces}, choice)]
    return [_chat_chunk({"tool_calls": [piece]}, choice) for piece in pieces]


def _chat_text(chance: Chance, choice: int) -> list[Payload]:
    field = chance.choice(["content", "content", "refusal", "reasoning_content", "reasoning", "thinking"])
    pieces = cut(_text(chance), chance)
    if chance.random() < 0.1:
        details = [{"type": "reasoning.text", "text": piece} for piece in pieces]
        return [_chat_chunk({"reasoning_details": [detail], "reasoning": detail["text"]}, choice) for detail in details]
    if chance.random() < 0.15:
        made = [_chat_chunk({"content": piece}, choice) for piece in pieces]
        for payload, piece in zip(made, pieces, strict=True):
            token = {"token": piece, "bytes": list(piece.encode()), "logprob": -0.1, "top_logprobs": []}
            payload["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
        return made
    return [_chat_chunk({field: piece}, choice) for piece in pieces]


def _messages_stream(chance: Chance, is_call: bool) -> list[Payload]:
    head: Payload = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    hidden_at, runs, place = chance.randint(0, 2), list[list[Payload]](), 0
    for at in range(3):
        if at == hidden_at:
            runs.append(_messages_call(chance, place) if is_call else _messages_text(chance, place))
            place += 1
        elif chance.random() < 0.4:
            runs.append(
                _messages_block(place, {"type": "text", "text": ""}, "text_delta", "text", ["All ", "is well."])
            )
            place += 1
    made = _shuffled(runs, chance) if chance.random() < 0.3 else [each for run in runs for each in run]
    stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use" if is_call else "end_turn",
            "stop_sequence": None}, "usage": {"output_tokens": 5}}  # fmt: skip
    return [{"type": "message_start", "message": head}, *made, stop, {"type": "message_stop"}]


def _messages_block(place: int, start: Payload, kind: str, field: str, pieces: list[str]) -> list[Payload]:
    deltas = [
        {"type": "content_block_delta", "index": place, "delta": {"type": kind, field: piece}} for piece in pieces
    ]
    return [
        {"type": "content_block_start", "index": place, "content_block": start},
        *deltas,
        {"type": "content_block_stop", "index": place},
    ]


def _messages_call(chance: Chance, place: int) -> list[Payload]:
    kind = chance.choice(["tool_use", "tool_use", "tool_use", "server_tool_use", "mcp_tool_use"])
    start: Payload = {"type": kind, "id": "toolu_1", "name": chance.tool, "input": {}}
    if chance.random() < 0.15:
        start["input"] = {"command": chance.mark}
        return _messages_block(place, start, "input_json_delta", "partial_json", [])
    return _messages_block(place, start, "input_json_delta", "partial_json", cut(_arguments(chance), chance))


def _messages_text(chance: Chance, place: int) -> list[Payload]:
    pieces = cut(_text(chance), chance)
    if chance.random() < 0.3:
        start: Payload = {"type": "thinking", "thinking": "", "signature": ""}
        if chance.random() < 0.3:
            start["thinking"] = pieces.pop(0)
        return _messages_block(place, start, "thinking_delta", "thinking", pieces)
    start = {"type": "text", "text": ""}
    if chance.random() < 0.3:
        start["text"] = pieces.pop(0)
    made = _messages_block(place, start, "text_delta", "text", pieces)
    if chance.random() < 0.15:
        citation = {
            "type": "char_location",
            "cited_text": chance.mark,
            "document_index": 0,
            "document_title": chance.mark,
        }
        delta = {"type": "citations_delta", "citation": citation}
        made.insert(-1, {"type": "content_block_delta", "index": place, "delta": delta})
    return made


def _responses_stream(chance: Chance, is_call: bool) -> list[Payload]:
    runs: list[list[Payload]] = []
    items: list[Payload] = []
    hidden_at = chance.randint(0, 1)
    for at in range(2):
        if at != hidden_at and chance.random() < 0.5:
            continue
        hide = _response_call if is_call else _response_text
        run, item = (
            hide(chance, len(items)) if at == hidden_at else _response_text_of("All is well.", chance, len(items))
        )
        runs.append(run)
        items.append(item)
    made = _shuffled(runs, chance) if chance.random() < 0.3 else [each for run in runs for each in run]
    output = items if chance.random() < 0.7 else []
    payloads = [_lifecycle("created", []), *made, _lifecycle("completed", output)]
    return [{**payload, "sequence_number": number} for number, payload in enumerate(payloads)]


def _lifecycle(word: str, output: list[Payload]) -> Payload:
    status = "completed" if word == "completed" else "in_progress"
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output,
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    return {"type": f"response.{word}", "response": response}


def _added(place: int, item: Payload) -> Payload:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def _response_call(chance: Chance, place: int) -> tuple[list[Payload], Payload]:
    arguments, id = _arguments(chance), f"fc_{place}"
    if chance.random() < 0.2:
        item: Payload = {
            "type": "custom_tool_call",
            "id": id,
            "call_id": "call_1",
            "name": chance.tool,
            "input": chance.mark,
        }
        word, field, arguments = "custom_tool_call_input", "input", chance.mark
    else:
        item = {"type": "function_call", "id": id, "call_id": "call_1", "name": chance.tool, "arguments": arguments,
                "status": "completed"}  # fmt: skip
        word, field = "function_call_arguments", "arguments"
    at = {"item_id": id, "output_index": place}
    begun = {**item, field: "", "status": "in_progress"}
    if chance.random() < 0.15:
        begun["name"] = chance.choice(["", "list"])
    deltas = [{"type": f"response.{word}.delta", **at, "delta": piece} for piece in cut(arguments, chance)]
    told = arguments if chance.random() < 0.8 else '{"command": "ls"}'
    done = {"type": f"response.{word}.done", **at, field: told, "name": item["name"]}
    last = {**item, field: told} if chance.random() < 0.1 else item
    return [_added(place, begun), *deltas, done, {**_added(place, last), "type": "response.output_item.done"}], last


def _response_text(chance: Chance, place: int) -> tuple[list[Payload], Payload]:
    if chance.random() < 0.3:
        return _response_thinking(chance, place)
    return _response_text_of(_text(chance), chance, place)


def _response_thinking(chance: Chance, place: int) -> tuple[list[Payload], Payload]:
    text, id = _text(chance), f"rs_{place}"
    item: Payload = {"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": text}]}
    at = {"item_id": id, "output_index": place, "summary_index": 0}
    deltas = [{"type": "response.reasoning_summary_text.delta", **at, "delta": piece} for piece in cut(text, chance)]
    part: Payload = {"type": "summary_text", "text": ""}
    return [
        _added(place, {**item, "summary": []}),
        {"type": "response.reasoning_summary_part.added", **at, "part": part},
        *deltas,
        {"type": "response.reasoning_summary_text.done", **at, "text": text},
        {"type": "response.reasoning_summary_part.done", **at, "part": {**part, "text": text}},
        {**_added(place, item), "type": "response.output_item.done"},
    ], item


def _response_text_of(text: str, chance: Chance, place: int) -> tuple[list[Payload], Payload]:
    id, is_refusal = f"msg_{place}", chance.random() < 0.15
    kind, field, word = ("refusal", "refusal", "refusal") if is_refusal else ("output_text", "text", "output_text")
    whole: Payload = {"type": kind, field: text}
    if not is_refusal:
        whole["annotations"] = []
        if chance.random() < 0.15:
            whole["logprobs"] = [{"token": text, "bytes": list(text.encode()), "logprob": 0, "top_logprobs": []}]
    item: Payload = {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [whole]}
    at = {"item_id": id, "output_index": place, "content_index": 0}
    deltas = [{"type": f"response.{word}.delta", **at, "delta": piece, "logprobs": []} for piece in cut(text, chance)]
    return [
        _added(place, {**item, "content": [], "status": "in_progress"}),
        {"type": "response.content_part.added", **at, "part": {**whole, field: ""}},
        *deltas,
        {"type": f"response.{word}.done", **at, field: text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": whole},
        {**_added(place, item), "type": "response.output_item.done"},
    ], item


def _gemini_chunk(parts: list[Payload], **candidate: Any) -> Payload:
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 1, "totalTokenCount": 5}
    return {"candidates": [{"content": content, "index": 0, **candidate}], "modelVersion": "m", "responseId": "r1",
            "usageMetadata": usage}  # fmt: skip


def _gemini_stream(chance: Chance, is_call: bool) -> list[Payload]:
    hidden = _gemini_call(chance) if is_call else _gemini_text(chance)
    harmless: list[Payload] = [{"functionCall": {"name": "list", "args": {}}}]
    plain: list[Payload] = [{"text": piece} for piece in cut("All is well.", chance)]
    runs = [run for run in (hidden, harmless, plain) if run is hidden or chance.random() < 0.4]
    chance.shuffle(runs)
    parts = [part for run in runs for part in run] if chance.random() < 0.7 else _shuffled(runs, chance)
    made: list[Payload] = []
    while parts:
        together = chance.choice([1, 1, 1, 2, len(parts)])
        made.append(_gemini_chunk(parts[:together]))
        parts = parts[together:]
    if chance.random() < 0.5:
        made.append(_gemini_chunk([{"text": ""}]))
    if chance.random() < 0.8:
        made[-1]["candidates"][0]["finishReason"] = chance.choice(["STOP", "MAX_TOKENS"])
    return made


def _gemini_call(chance: Chance) -> list[Payload]:
    """A call, whole or in pieces, or one that Gemini runs itself."""
    call: Payload = {"name": chance.tool, "args": {"command": chance.mark}}
    if chance.random() < 0.3:
        call["id"] = "call_1"
    if chance.random() < 0.15:
        pieces = [{"jsonPath": "$.command", "stringValue": piece} for piece in cut(chance.mark, chance)]
        begun: Payload = {"functionCall": {"name": chance.tool, "willContinue": True}}
        goes_on: list[Payload] = [
            {"functionCall": {"partialArgs": [piece], "willContinue": piece is not pieces[-1]}} for piece in pieces
        ]
        return [begun, *goes_on]
    if chance.random() < 0.1:
        return [{"toolCall": {**call, "toolType": chance.tool}}]
    signature = {"thoughtSignature": "c2ln"} if chance.random() < 0.3 else {}
    return [{"functionCall": call, **signature}]


def _gemini_text(chance: Chance) -> list[Payload]:
    thought = {"thought": True} if chance.random() < 0.3 else {}
    return [{"text": piece, **thought} for piece in cut(_text(chance), chance)]


STREAMS: dict[str, Callable[[Chance, bool], list[Payload]]] = {
    "openai_chat": _chat_stream,
    "anthropic_messages": _messages_stream,
    "openai_responses": _responses_stream,
    "gemini": _gemini_stream,
}


# Whole answers


def _chat_body(chance: Chance, is_call: bool) -> Payload:
    message: Payload = {"role": "assistant", "content": None if is_call else "All is well."}
    if is_call:
        function = {"name": chance.tool, "arguments": _arguments(chance)}
        if chance.random() < 0.2:
            message["function_call"] = function
        else:
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    else:
        fields = ["content", "content", "refusal", "reasoning_content", "reasoning", "thinking"]
        message[chance.choice(fields)] = _text(chance)
    choice: Payload = {"index": 0, "message": message, "finish_reason": "tool_calls" if is_call else "stop"}
    if not is_call and chance.random() < 0.2:
        choice["logprobs"] = {"content": [{"token": chance.mark, "bytes": [], "logprob": 0, "top_logprobs": []}]}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _messages_body(chance: Chance, is_call: bool) -> Payload:
    if is_call:
        kind = chance.choice(["tool_use", "tool_use", "server_tool_use", "mcp_tool_use"])
        part = {"type": kind, "id": "toolu_1", "name": chance.tool, "input": {"command": chance.mark}}
    elif chance.random() < 0.3:
        part = {"type": "thinking", "thinking": _text(chance), "signature": "c2ln"}
    else:
        part = {"type": "text", "text": _text(chance), "citations": None}
        if chance.random() < 0.2:
            part["citations"] = [{"type": "char_location", "cited_text": chance.mark}]
    content = [{"type": "text", "text": "All is well."}, part][chance.randint(0, 1) :]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if is_call else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


def _responses_body(chance: Chance, is_call: bool) -> Payload:
    _, item = _response_call(chance, 0) if is_call else _response_text(chance, 0)
    response: Payload = _lifecycle("completed", [item])["response"]
    return response


def _gemini_body(chance: Chance, is_call: bool) -> Payload:
    hidden = _gemini_call(chance) if is_call else _gemini_text(chance)
    plain: list[Payload] = [{"text": "All is well."}]
    return _gemini_chunk(plain * chance.randint(0, 1) + hidden, finishReason="STOP")


BODIES: dict[str, Callable[[Chance, bool], Payload]] = {
    "openai_chat": _chat_body,
    "anthropic_messages": _messages_body,
    "openai_responses": _responses_body,
    "gemini": _gemini_body,
}
