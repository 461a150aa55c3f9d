"""Work on the event loop for each request: a megabyte of small items executes no line, or few, for each item."""

import json
import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.json_value import MAX_DEPTH
from streamviz.core.request import ModelCall
from streamviz.core.wire import AGGREGATORS, WIRE_FORMATS
from streamviz.proxy.requests import LONG_BODY_BYTES, ModelRequest, read_aside, read_request
from streamviz.proxy.said import Said
from streamviz.proxy.sessions import Sessions
from streamviz.upstream.estimates import asked_tokens
from tests.core.test_linear import work_of

CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION = {"name": "f"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
MANY: dict[str, tuple[str, Callable[[list[int]], dict[str, Any]]]] = {
    "parts": ("openai_chat", lambda n: {"messages": [{"role": "user", "content": [{"text": "x"} for _ in n]}]}),
    "calls": ("openai_chat", lambda n: {"messages": [{"role": "assistant", "tool_calls": [CHAT_CALL for _ in n]}]}),
    "items": ("openai_responses", lambda n: {"input": [CALL for _ in n]}),
    "system": ("anthropic_messages", lambda n: {"messages": [], "system": [{"text": "x"} for _ in n]}),
    "names": ("openai_chat", lambda n: {"messages": [], **{f"k{each}": 1 for each in n}}),
    "functions": ("gemini", lambda n: {"contents": [], "tools": [{"functionDeclarations": [FUNCTION for _ in n]}]}),
}


def begin(request: ModelRequest, format: str) -> None:
    said = Said(WIRE_FORMATS[format], "", "")
    Sessions("secret").begin(uuid4(), said, request.fields, "key", 1, AGGREGATORS[format]())


# Each step with the number of lines that it may execute per item.
STEPS: dict[str, tuple[int, Callable[[ModelRequest, str], object]]] = {
    "read": (2, lambda request, wire: read_request(request.body, WIRE_FORMATS[wire])),
    "session": (15, begin),
    "length": (3, lambda request, wire: ModelCall(wire, request.fields).length),
    "estimate": (3, lambda request, wire: asked_tokens(ModelCall(wire, request.fields))),
}


async def lines(step: str, things: str, count: int) -> int:
    """How many lines a step executes with `count` items."""
    format, fields = MANY[things]
    body = json.dumps({"model": "m", **fields(list(range(count)))}).encode()
    request = read_request(body, WIRE_FORMATS[format])

    async def taken() -> None:
        STEPS[step][1](request, format)

    return await work_of(taken())


@pytest.mark.parametrize("things", MANY)
@pytest.mark.parametrize("step", STEPS)
async def test_a_step_costs_little_for_each_thing(step: str, things: str) -> None:
    await lines(step, things, 1)
    few, many = [await lines(step, things, count) for count in (1_000, 2_000)]
    assert many - few <= STEPS[step][0] * 1_000


async def test_others_get_on_while_what_is_kept_of_a_long_request_is_found() -> None:
    async def lines_of(count: int) -> int:
        pictures = [{"image_url": {"url": f"https://pictures.example/{'a' * 100}.png?sig={n}"}} for n in range(count)]
        asked = {"model": "m", "messages": [{"role": "user", "content": pictures}]}
        return await work_of(read_request(json.dumps(asked).encode(), WIRE_FORMATS["openai_chat"]).kept())

    # The lesser of two: the process may have had other work during one of them.
    few, many = [min([await lines_of(LONG_BODY_BYTES // 100 * times) for _ in range(2)]) for times in (1, 4)]
    assert many - few < 1_000


def test_a_schema_that_is_nested_deeply_begins_a_stream_all_the_same() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 6):  # without the levels around it
        schema = {"items": schema}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]
    body = json.dumps({"model": "m", "contents": [], "tools": tools}).encode()
    begin(read_request(body, WIRE_FORMATS["gemini"]), "gemini")


async def test_others_get_on_while_a_long_request_is_read() -> None:
    where = list[int]()

    def read(body: bytes) -> int:
        where.append(threading.get_ident())
        if body == b"wrong" * LONG_BODY_BYTES:
            raise RequestError(400, "wrong")
        return len(body)

    assert await read_aside(b"short", read) == 5
    assert await read_aside(b"x" * LONG_BODY_BYTES * 2, read) == 2 * LONG_BODY_BYTES
    assert [at == threading.get_ident() for at in where] == [True, False]
    with pytest.raises(RequestError, match="wrong"):
        await read_aside(b"wrong" * LONG_BODY_BYTES, read)
