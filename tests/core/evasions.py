"""Made-up evasions: streams and whole answers that would bring something past a policy, and what SDKs make of them.

Each is made from a seed. A client has what its SDK puts together: the SDK's own decoder of events and its own
accumulator, up to where it raises.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from anthropic._models import construct_type as construct_anthropic
from anthropic._streaming import SSEDecoder as AnthropicDecoder
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from openai import omit
from openai._models import construct_type as construct_openai
from openai._streaming import SSEDecoder as OpenAIDecoder
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

Payload = dict[str, Any]

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")
TOOL, MARK = "run_shell", "jane.roe@example.com"
_UNHEARD_OF = ("note", "x_more", "obfuscation")
_ANTHROPIC_EVENTS = frozenset(
    "message_start message_delta message_stop content_block_start content_block_delta content_block_stop".split()
)


class Call(NamedTuple):
    """A call that a client would carry out; `is_function` where it is of a function, as requests declare them."""

    name: str
    arguments: str
    is_function: bool = True


class Seen(NamedTuple):
    """What a client has: its calls, and all text in what its SDK puts together, of parts that it knows."""

    calls: list[Call]
    text: str


# What the SDKs put together


def seen(format: str, tape: bytes, is_streaming: bool = True) -> Seen:
    """What a client has of these bytes."""
    if not is_streaming:
        return _seen_in(format, [_loaded(tape)])
    return {"openai_chat": _chat, "anthropic_messages": _messages, "openai_responses": _responses}[format](tape)


def _loaded(raw: bytes | str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return {}


def _events(decoder: Any, tape: bytes) -> Iterator[Any]:
    yield from decoder.iter_bytes(iter([tape]))


def _chat(tape: bytes) -> Seen:
    state, has_any = ChatCompletionStreamState(), False
    for event in _events(OpenAIDecoder(), tape):
        if event.data.startswith("[DONE]"):
            break
        payload = _loaded(event.data)
        if not isinstance(payload, dict) or payload.get("error"):
            break
        chunk: Any = construct_openai(type_=ChatCompletionChunk, value=payload)
        try:
            state.handle_chunk(chunk)
        except Exception:
            break
        has_any = True
    return _seen_in("openai_chat", [state.current_completion_snapshot.to_dict(warnings=False)] if has_any else [])


def _messages(tape: bytes) -> Seen:
    message: Any = None
    buffers: dict[int, bytes] = {}
    for event in _events(AnthropicDecoder(), tape):
        if event.event == "error":
            break
        if event.event not in _ANTHROPIC_EVENTS:
            continue
        made: Any = construct_anthropic(type_=RawMessageStreamEvent, value=_loaded(event.data))
        try:
            message = accumulate_event(event=made, current_snapshot=message, json_bufs=buffers)
        except Exception:
            break
    found = _seen_in("anthropic_messages", [] if message is None else [message.to_dict(warnings=False)])
    return found._replace(text=found.text + "".join(buffer.decode("utf-8", "replace") for buffer in buffers.values()))


def _responses(tape: bytes) -> Seen:
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    snapshots: list[Any] = []
    for event in _events(OpenAIDecoder(), tape):
        if event.data.startswith("[DONE]"):
            break
        payload = _loaded(event.data)
        if not isinstance(payload, dict) or payload.get("error"):
            break
        made: Any = construct_openai(type_=ResponseStreamEvent, value=payload)
        try:
            told = state.handle_event(made)
            snapshots = [state._ResponseStreamState__current_snapshot.to_dict(warnings=False)]  # type: ignore[attr-defined]
        except Exception:
            break
        if told and getattr(told[-1], "response", None) is not None:
            response = told[-1].response
            snapshots.append(response if isinstance(response, dict) else response.to_dict(warnings=False))
    return _seen_in("openai_responses", snapshots)


def _seen_in(format: str, messages: list[Any]) -> Seen:
    calls = [call for message in messages for call in _CALLS[format](message)]
    parts = [part for message in messages for part in _TEXTS[format](message)]
    return Seen(calls, "\n".join(text for part in parts for text in texts_in(part)))


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value but in fields that no format has."""
    level = [value]
    while level:
        match level.pop():
            case str(text):
                yield text
            case dict(members):
                level += [member for name, member in members.items() if name not in _UNHEARD_OF]
            case list(items):
                level += items


def _dicts(value: Any) -> list[Payload]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _chat_calls(message: Payload) -> Iterator[Call]:
    for choice in _dicts(message.get("choices")):
        told = choice.get("message") or {}
        for call in _dicts(told.get("tool_calls")):
            function, custom = call.get("function"), call.get("custom") or {}
            given = function.get("arguments") if function else custom.get("input")
            function, arguments = function or custom, str(given or "")
            yield Call(str(function.get("name")), arguments, call.get("type") in ("function", None))
        if function := told.get("function_call"):
            yield Call(str(function.get("name")), str(function.get("arguments") or ""))


def _message_calls(message: Payload) -> Iterator[Call]:
    for part in _dicts(message.get("content")):
        if str(part.get("type")).endswith("tool_use"):
            arguments = json.dumps(part.get("input"), ensure_ascii=False)
            yield Call(str(part.get("name")), arguments, part["type"] == "tool_use")


def _response_calls(response: Payload) -> Iterator[Call]:
    for item in _dicts(response.get("output")):
        if str(item.get("type")).endswith("_call"):
            fields = {"custom_tool_call": "input", "function_call": "arguments"}
            arguments = item.get(fields.get(item["type"], "action")) or ""
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield Call(str(item.get("name")), text, item["type"] == "function_call")


_CALLS: dict[str, Callable[[Any], Iterator[Call]]] = {
    "openai_chat": _chat_calls,
    "anthropic_messages": _message_calls,
    "openai_responses": _response_calls,
}


_TEXTS: dict[str, Callable[[Any], list[Payload]]] = {
    "openai_chat": lambda message: _dicts(message.get("choices")),
    "anthropic_messages": lambda message: [
        part for part in _dicts(message.get("content")) if part.get("type") in ("text", "thinking")
    ],
    "openai_responses": lambda message: [
        part
        for item in _dicts(message.get("output"))
        for part in (_dicts(item.get("content")) if item.get("type") == "message" else [item])
        if part.get("type") in ("output_text", "refusal", "reasoning")
    ],
}


# Streams


class Evasion(NamedTuple):
    """A stream, or a whole answer, that tries to bring TOOL or MARK to the client."""

    format: str
    data: bytes
    is_streaming: bool


def evasion(format: str, seed: str, *, is_call: bool) -> Evasion:
    """One that hides a call, or a text."""
    chance = random.Random(f"{format} {seed}")
    if chance.random() < 0.2:
        return Evasion(format, _body(format, chance, is_call), False)
    pieces = _STREAMS[format](chance, is_call)
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 3))):
        chance.choice(_TWISTS)(pieces, chance)
    return Evasion(format, b"".join(_framed(format, piece, chance) for piece in pieces), True)


def cut(text: str, chance: random.Random) -> list[str]:
    """A text in pieces: whole, in a few, or each character by itself."""
    if chance.random() < 0.2:
        return list(text)
    places = sorted(chance.sample(range(1, len(text)), chance.randint(0, min(3, len(text) - 1))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _arguments(chance: random.Random) -> str:
    command = chance.choice([MARK, f"mail {MARK}", f"x\\n{MARK}", "".join(f"\\u{ord(letter):04x}" for letter in MARK)])
    return chance.choice([
        f'{{"command": "{command}"}}', f'{{"command":"ls","command":"{command}"}}', f'{{"command": ["{command}"]}}',
        f'{{"a": {{"command": "{command}"}}}}', f'{{"comm\\u0061nd": "{command}"}}', f' {{"command": "{command}"}} ',
        f'{{"command": "{command}"', f'{{"command": "{command}",}}', f'[{{"command": "{command}"}}]',
    ])  # fmt: skip


def _name(chance: random.Random) -> str:
    return TOOL


def _text(chance: random.Random) -> str:
    return chance.choice(["", "Write to "]) + MARK + chance.choice(["", ".", " and wait."])


def _shuffled(runs: list[list[Payload]], chance: random.Random) -> list[Payload]:
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


def _chat_stream(chance: random.Random, is_call: bool) -> list[Payload]:
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


def _chat_call(chance: random.Random, choice: int) -> list[Payload]:
    index, id = chance.choice([0, 0, 1, 3]), "call_1"
    names = cut(_name(chance), chance) if chance.random() < 0.3 else [_name(chance)]
    pieces = [_chat_piece(index, None, None, part) for part in cut(_arguments(chance), chance)]
    for at, name in enumerate(names):
        where = chance.randint(0, len(pieces)) if chance.random() < 0.3 else at
        pieces.insert(where, _chat_piece(index, id if at == 0 or chance.random() < 0.2 else None, name, None))
    if chance.random() < 0.15:
        return [_chat_chunk({"function_call": piece["function"]}, choice) for piece in pieces]
    if chance.random() < 0.1:
        return [_chat_chunk({"tool_calls": pieces}, choice)]
    return [_chat_chunk({"tool_calls": [piece]}, choice) for piece in pieces]


def _chat_text(chance: random.Random, choice: int) -> list[Payload]:
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


def _messages_stream(chance: random.Random, is_call: bool) -> list[Payload]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
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


def _messages_call(chance: random.Random, place: int) -> list[Payload]:
    kind = chance.choice(["tool_use", "tool_use", "tool_use", "server_tool_use", "mcp_tool_use"])
    start: Payload = {"type": kind, "id": "toolu_1", "name": _name(chance), "input": {}}
    if chance.random() < 0.15:
        start["input"] = {"command": MARK}
        return _messages_block(place, start, "input_json_delta", "partial_json", [])
    return _messages_block(place, start, "input_json_delta", "partial_json", cut(_arguments(chance), chance))


def _messages_text(chance: random.Random, place: int) -> list[Payload]:
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
        citation = {"type": "char_location", "cited_text": MARK, "document_index": 0, "document_title": MARK}
        delta = {"type": "citations_delta", "citation": citation}
        made.insert(-1, {"type": "content_block_delta", "index": place, "delta": delta})
    return made


def _responses_stream(chance: random.Random, is_call: bool) -> list[Payload]:
    runs: list[list[Payload]] = []
    items: list[Payload] = []
    hidden_at = chance.randint(0, 1)
    for at in range(2):
        if at != hidden_at and chance.random() < 0.5:
            continue
        make = (_response_call if is_call else _response_text) if at == hidden_at else _response_text_of
        run, item = (
            make(chance, len(items)) if at == hidden_at else _response_text_of("All is well.", chance, len(items))
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


def _response_call(chance: random.Random, place: int) -> tuple[list[Payload], Payload]:
    arguments, id = _arguments(chance), f"fc_{place}"
    if chance.random() < 0.2:
        item: Payload = {
            "type": "custom_tool_call",
            "id": id,
            "call_id": "call_1",
            "name": _name(chance),
            "input": MARK,
        }
        word, field, arguments = "custom_tool_call_input", "input", MARK
    else:
        item = {"type": "function_call", "id": id, "call_id": "call_1", "name": _name(chance), "arguments": arguments,
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


def _response_text(chance: random.Random, place: int) -> tuple[list[Payload], Payload]:
    if chance.random() < 0.3:
        return _response_thinking(chance, place)
    return _response_text_of(_text(chance), chance, place)


def _response_thinking(chance: random.Random, place: int) -> tuple[list[Payload], Payload]:
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


def _response_text_of(text: str, chance: random.Random, place: int) -> tuple[list[Payload], Payload]:
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


_STREAMS: dict[str, Callable[[random.Random, bool], list[Payload]]] = {
    "openai_chat": _chat_stream,
    "anthropic_messages": _messages_stream,
    "openai_responses": _responses_stream,
}


# Twists


def _repeat(pieces: list[Payload], chance: random.Random) -> None:
    at = chance.randrange(len(pieces))
    pieces.insert(chance.randint(at, len(pieces)), pieces[at])


def _swap(pieces: list[Payload], chance: random.Random) -> None:
    at = chance.randrange(max(1, len(pieces) - 1))
    pieces[at : at + 2] = reversed(pieces[at : at + 2])


def _drop(pieces: list[Payload], chance: random.Random) -> None:
    if len(pieces) > 1:
        pieces.pop(chance.randrange(len(pieces)))


def _late(pieces: list[Payload], chance: random.Random) -> None:
    pieces.append(pieces.pop(chance.randrange(len(pieces))))


def _set_somewhere(pieces: list[Payload], chance: random.Random, names: tuple[str, ...], values: list[Any]) -> None:
    """Another value for a field of one of these names, somewhere in one of the pieces."""
    at = chance.randrange(len(pieces))
    copy = json.loads(json.dumps(pieces[at]))
    found = [(each, name) for each in _all_dicts(copy) for name in names if name in each]
    if found:
        where, name = chance.choice(found)
        where[name] = chance.choice(values)
        pieces[at] = copy


def _all_dicts(value: Any) -> Iterator[Payload]:
    level = [value]
    while level:
        each = level.pop()
        if isinstance(each, dict):
            yield each
            level += each.values()
        elif isinstance(each, list):
            level += each


def _odd_index(pieces: list[Payload], chance: random.Random) -> None:
    names = ("index", "output_index", "content_index", "summary_index")
    _set_somewhere(pieces, chance, names, [0, 1, 2, 7, -1, "0", "1", 1.0, None, True])


def _odd_id(pieces: list[Payload], chance: random.Random) -> None:
    _set_somewhere(pieces, chance, ("id", "item_id", "call_id"), ["", None, "call_ok", "other", 5])


def _odd_type(pieces: list[Payload], chance: random.Random) -> None:
    kinds = ["text", "tool_use", "server_tool_use", "function_call", "custom_tool_call", "message", "reasoning",
             "bash_20250124", "local_shell_call", "brand_new", "output_text", "refusal", "", None]  # fmt: skip
    _set_somewhere(pieces, chance, ("type",), kinds)


def _other_name(pieces: list[Payload], chance: random.Random) -> None:
    _set_somewhere(pieces, chance, ("name",), [TOOL, "list", "", None, f" {TOOL}", {"a": TOOL}])


def _repeated_elsewhere(pieces: list[Payload], chance: random.Random) -> None:
    """The text once more in a field that nobody expects it in."""
    at = chance.randrange(len(pieces))
    copy = json.loads(json.dumps(pieces[at]))
    where = chance.choice(list(_all_dicts(copy)))
    told = chance.choice([MARK, [{"type": "thinking", "thinking": MARK}], {"text": MARK}])
    where[chance.choice(_UNHEARD_OF)] = told
    pieces[at] = copy


def _both_members(pieces: list[Payload], chance: random.Random) -> None:
    """What a tool is given once more under the name that another kind of call has for it."""
    at = chance.randrange(len(pieces))
    copy = json.loads(json.dumps(pieces[at]))
    for each in _all_dicts(copy):
        for name, other in (("arguments", "input"), ("input", "arguments")):
            if name in each and other not in each:
                each[other] = chance.choice(['{"command": "ls"}', "", None, {}, each[name]])
                break
    pieces[at] = copy


_TWISTS = (_repeat, _swap, _drop, _late, _odd_index, _odd_index, _odd_id, _odd_id, _odd_type, _other_name,
           _repeated_elsewhere, _both_members)  # fmt: skip


# Framing


def _framed(format: str, payload: Payload, chance: random.Random) -> bytes:
    data = _dumped(payload, chance)
    end = chance.choice([b"\n"] * 8 + [b"\r\n", b"\r"])
    name = str(payload.get("type") or "")
    has_name = format != "openai_chat" and chance.random() < 0.97
    lines = [b"event: " + name.encode()] if has_name else []
    lines.append(chance.choice([b"data: "] * 9 + [b"data:"]) + data)
    if chance.random() < 0.05:
        lines.insert(0, b": " + MARK.encode()[:4])
    return end.join([*lines, b"", b""])


def _dumped(payload: Payload, chance: random.Random) -> bytes:
    text = json.dumps(payload, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.05 and TOOL in text:
        text = text.replace(TOOL, "".join(f"\\u{ord(letter):04x}" for letter in TOOL))
    if chance.random() < 0.05 and '"name":' in text:
        text = text.replace('"name":', '"name": "list", "name":', 1)
    return text.encode()


# Whole answers


def _body(format: str, chance: random.Random, is_call: bool) -> bytes:
    made = {"openai_chat": _chat_body, "anthropic_messages": _messages_body, "openai_responses": _responses_body}
    bodies = [made[format](chance, is_call)]
    for _ in range(chance.choice((0, 0, 1, 2))):
        chance.choice((_odd_index, _odd_id, _odd_type, _other_name, _repeated_elsewhere, _both_members))(bodies, chance)
    return _dumped(bodies[0], chance)


def _chat_body(chance: random.Random, is_call: bool) -> Payload:
    message: Payload = {"role": "assistant", "content": None if is_call else "All is well."}
    if is_call:
        function = {"name": _name(chance), "arguments": _arguments(chance)}
        if chance.random() < 0.2:
            message["function_call"] = function
        else:
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    else:
        fields = ["content", "content", "refusal", "reasoning_content", "reasoning", "thinking"]
        message[chance.choice(fields)] = _text(chance)
    choice: Payload = {"index": 0, "message": message, "finish_reason": "tool_calls" if is_call else "stop"}
    if not is_call and chance.random() < 0.2:
        choice["logprobs"] = {"content": [{"token": MARK, "bytes": [], "logprob": 0, "top_logprobs": []}]}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _messages_body(chance: random.Random, is_call: bool) -> Payload:
    if is_call:
        kind = chance.choice(["tool_use", "tool_use", "server_tool_use", "mcp_tool_use"])
        part = {"type": kind, "id": "toolu_1", "name": _name(chance), "input": {"command": MARK}}
    elif chance.random() < 0.3:
        part = {"type": "thinking", "thinking": _text(chance), "signature": "c2ln"}
    else:
        part = {"type": "text", "text": _text(chance), "citations": None}
        if chance.random() < 0.2:
            part["citations"] = [{"type": "char_location", "cited_text": MARK}]
    content = [{"type": "text", "text": "All is well."}, part][chance.randint(0, 1) :]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use" if is_call else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


def _responses_body(chance: random.Random, is_call: bool) -> Payload:
    _, item = _response_call(chance, 0) if is_call else _response_text(chance, 0)
    response: Payload = _lifecycle("completed", [item])["response"]
    return response
