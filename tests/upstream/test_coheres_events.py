"""What a client gets of Cohere's streams, which are as in https://docs.cohere.com/v2/docs/streaming."""

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.sse import write_event
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated
from tests.core.wire.official import Told, read_back, take_in

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def event(kind: str, message: JsonObject) -> bytes:
    return write_event(encode({"type": kind, "index": 0, "delta": {"message": message}}), kind)


def end(reason: str) -> bytes:
    usage = {"billed_units": {"input_tokens": 1, "output_tokens": 2}, "tokens": {"input_tokens": 5, "output_tokens": 2}}
    told = {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage}}
    return write_event(encode(told), "message-end") + b"data: [DONE]\n\n"


def called(call: JsonObject, kind: str = "tool-call-delta") -> bytes:
    return event(kind, {"tool_calls": call})


BEGIN = event("message-start", {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []})
TEXT = [event("content-delta", {"content": {"text": text}}) for text in ("Hi ", "you")]
ANSWER = BEGIN + event("content-start", {"content": {"type": "text", "text": ""}}) + b"".join(TEXT)
CALL = (
    BEGIN
    + event("tool-plan-delta", {"tool_plan": "I will look."})
    + called({"id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}, "tool-call-start")
    + called({"function": {"arguments": '{"at":'}})
    + called({"function": {"arguments": "1}"}})
)
FORMATS = ("openai_chat", "anthropic_messages")


async def read(body: bytes, wire_format: str) -> bytes:
    async def respond(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="text/event-stream")

    server = RawTestServer(respond)
    await server.start_server()
    plan = RoutePlan("cohere_chat/command", f"http://127.0.0.1:{server.port}/v2/chat", key="sk-precious")
    request = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": True}
    try:
        return b"".join([piece async for piece in await open_translated(resolve("x", wire_format, plan), request, 30)])
    finally:
        await server.close()


async def told(body: bytes, wire_format: str) -> Told:
    return read_back(wire_format, await read(body, wire_format))


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_an_answer_comes_whole(wire_format: str) -> None:
    assert (await told(ANSWER + end("COMPLETE"), wire_format)).content == "Hi you"
    [(_, name, arguments)] = (await told(CALL + end("TOOL_CALL"), wire_format)).calls
    assert (name, arguments) == ("look", {"at": 1})


@pytest.mark.parametrize(("reason", "word"), [("COMPLETE", "end_turn"), ("MAX_TOKENS", "max_tokens")])
async def test_the_finish_reason_and_usage_come_through(reason: str, word: str) -> None:
    aggregator, _ = take_in("anthropic_messages", await read(ANSWER + end(reason), "anthropic_messages"))
    assert aggregator.state.finish_reason == word
    assert aggregator.state.usage == {"input_tokens": 5, "output_tokens": 2}


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_an_answer_that_is_cut_off_is_an_error(wire_format: str) -> None:
    with pytest.raises(UpstreamError, match="before it was finished"):
        await read(ANSWER, wire_format)
