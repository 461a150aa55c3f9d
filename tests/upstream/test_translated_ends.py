"""A translated answer ends when the provider says so, not merely when its bytes stop."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, encode, object_in
from streamviz.core.sse import write_event
from streamviz.upstream.sending import send_only_what_is_asked
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

GEMINI_HALF = b'data: {"candidates":[{"content":{"parts":[{"text":"half"}],"role":"model"},"index":0}]}\n\n'
PAGE = b"<html><body>Welcome</body></html>"
CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "x"}


async def read(provider: str, body: bytes, received: list[bytes]) -> None:
    """Collect in `received` what a chat client gets if the provider streams this."""

    async def respond(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="text/event-stream")

    server = RawTestServer(respond)
    await server.start_server()
    plan = RoutePlan(f"{provider}/x", f"http://127.0.0.1:{server.port}", key="sk-precious")
    request = {"model": "x", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": True}
    try:
        answer = await open_translated(resolve("x", "openai_chat", plan), request, 30)
        try:
            pieces = aiter(answer)
            while piece := await anext(pieces, b""):
                received.append(piece)
        finally:
            answer.close()
    finally:
        await server.close()


# Reported as for an untranslated call, whatever LiteLLM makes of it.
HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
FAULTS = {
    "upstream answered 101, which was": HEAD.replace(b"200 OK", b"101 Switching") + b"\r\n",
    "upstream answered 302, a redirect": HEAD.replace(b"200 OK", b"302 Found") + b"location: /other\r\n\r\n",
    "could not be reached: Server disconnected": b"",
    "answered in broken HTTP: Bad status line$": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "answered in broken HTTP: Got more than [0-9]+ bytes when reading$": HEAD + b"a: " + b"b" * 20_000 + b"\r\n\r\n",
    r"upstream cut off the response \(socket hang up\): Response payload is not completed$": (
        HEAD + b"content-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    ),
}
NO_CONTENT = {"before it was finished|not JSON": HEAD.replace(b"200 OK", b"204 No Content") + b"\r\n"}
WHOLE_FAULTS = {
    **FAULTS,
    "upstream sent something that is not JSON": HEAD + b"content-type: text/html\r\n\r\n" + PAGE,
}
# The client's message for each form of body. LiteLLM would add names of its own to the words, or lose them.
REFUSALS = {
    b"": "upstream answered 413",
    PAGE: "upstream answered 413",
    b'{"error":{"message":"out of beans"}}': "out of beans",
    b'[{"error":{"message":"out of beans"}}]': "out of beans",
    b'{"error":"out of beans"}': "out of beans",
    b'{"detail":"out of beans"}': "out of beans",
    b'{"detail":[{"msg":"out of beans"}]}': '{"detail":[{"msg":"out of beans"}]}',
    b"out of \xff": "out of \ufffd",
}


def holding(body: bytes, kind: str = "application/json") -> bytes:
    return HEAD + f"content-type: {kind}\r\n\r\n".encode() + body


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[str]:
    """The address of a server that sends this reply to each request and closes the connection."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = re.search(rb"content-length: (\d+)", (await reader.readuntil(b"\r\n\r\n")).lower())
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def asked(provider: str, url: str, wire_format: str, *, stream: bool) -> bytes:
    target = resolve("x", wire_format, RoutePlan(f"{provider}/x", url, key="sk-precious"))
    said: JsonObject = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": stream}
    if wire_format in ("embeddings", "openai_responses"):
        said = {"input": "Hello", **({"stream": True} if stream else {})}
    answer = await open_translated(target, said, 30)
    try:
        return b"".join([piece async for piece in answer])
    finally:
        answer.close()


CALLS = [
    *(("anthropic", "openai_chat"), ("gemini", "openai_chat"), ("ollama_chat", "openai_chat")),
    *(("openai", "anthropic_messages"), ("groq", "anthropic_messages"), ("gemini", "embeddings")),
]


@pytest.mark.parametrize(("provider", "wire_format"), CALLS)
async def test_what_no_provider_should_do_is_told_as_its_own_fault(provider: str, wire_format: str) -> None:
    send_only_what_is_asked()
    is_whole = wire_format != "anthropic_messages"  # it requests a stream even for a whole answer
    for words, answer in (WHOLE_FAULTS if is_whole else FAULTS).items():
        async with saying(answer) as url:
            with pytest.raises(UpstreamError, match=words) as raised:
                await asked(provider, url, wire_format, stream=False)
            assert raised.value.status == 502


# These also speak their client's format, but not at every address.
NOT_HERE = [("dashscope", "anthropic_messages"), ("azure_ai", "openai_responses")]


@pytest.mark.parametrize(("provider", "wire_format"), [*CALLS[:-1], *NOT_HERE])
async def test_what_no_provider_should_do_in_a_stream_is_told_as_its_own_fault(provider: str, wire_format: str) -> None:
    send_only_what_is_asked()
    for words, answer in {**FAULTS, "before it was finished|not JSON": holding(b"{}"), **NO_CONTENT}.items():
        async with saying(answer) as url:
            with pytest.raises(UpstreamError, match=words) as raised:
                await asked(provider, url, wire_format, stream=True)
            assert raised.value.status == 502


@pytest.mark.parametrize(
    ("provider", "wire_format", "stream"),
    [*((*call, False) for call in CALLS), *((*call, True) for call in CALLS[:-1])],
)
async def test_a_refusal_is_told_as_the_provider_wrote_it(provider: str, wire_format: str, stream: bool) -> None:
    send_only_what_is_asked()
    for body, words in REFUSALS.items():
        head = b"HTTP/1.1 413 Too Long\r\nconnection: close\r\nretry-after: 7\r\n\r\n"
        async with saying(head + body) as url:
            with pytest.raises(UpstreamError) as raised:
                await asked(provider, url, wire_format, stream=stream)
        error = raised.value
        assert (error.status, error.message, error.code, error.headers) == (413, words, None, {"retry-after": "7"})


async def test_a_refusal_that_is_cut_off_is_still_one() -> None:
    send_only_what_is_asked()
    async with saying(b'HTTP/1.1 429 Wait\r\ncontent-length: 99\r\n\r\n{"error":') as url:
        with pytest.raises(UpstreamError) as raised:
            await asked("anthropic", url, "openai_chat", stream=False)
    assert raised.value.status == 429


NOTHINGS = (b'{"status":"ok"}', b"[1]", b'{"choices":[1],"content":"x","candidates":[1],"message":"x"}')
# Exactly these messages: LiteLLM's would quote the answer and describe LiteLLM.
UNREADABLE = (
    "upstream sent something that is not JSON",
    "upstream sent something that does not fit its format",
    r"upstream closed the stream before it was finished \(socket hang up\)",
)
# Some report errors in this form, and this one is not the client's fault.
TOLD = b'{"error":{"message":"out of beans","code":503}}'


@pytest.mark.parametrize(
    ("provider", "wire_format"),
    [*CALLS, ("cohere_chat", "openai_chat"), ("voyage", "embeddings"), ("dashscope", "anthropic_messages")],
)
async def test_json_that_is_no_answer_is_the_providers_fault(provider: str, wire_format: str) -> None:
    send_only_what_is_asked()
    for body in (*NOTHINGS, PAGE):
        async with saying(holding(body, "text/event-stream" if body == PAGE else "application/json")) as url:
            with pytest.raises(UpstreamError, match=f"^({'|'.join(UNREADABLE)})") as raised:
                await asked(provider, url, wire_format, stream=False)
        assert (raised.value.status, raised.value.kind) == (502, "upstream_error"), body


@pytest.mark.parametrize(
    ("provider", "wire_format"), [CALLS[0], CALLS[1], CALLS[2], ("cohere_chat", "openai_chat"), CALLS[5]]
)
async def test_an_error_in_an_answers_place_is_told_in_its_words(provider: str, wire_format: str) -> None:
    send_only_what_is_asked()
    async with saying(holding(TOLD)) as url:
        with pytest.raises(UpstreamError, match="out of beans") as raised:
            await asked(provider, url, wire_format, stream=False)
    assert raised.value.status == 503


@pytest.mark.parametrize(
    "told",
    [
        b'{"error_code":"BEANS","message":"out of beans"}',
        b'{"object":"error","message":"out of beans","code":7}',
        b'{"error":{"message":"out of beans"},"choices":[]}',
    ],
)
async def test_an_error_of_another_form_in_an_answers_place_is_told_in_its_words(told: bytes) -> None:
    send_only_what_is_asked()
    async with saying(holding(told)) as url:
        with pytest.raises(UpstreamError, match=r"^out of beans$"):
            await asked("databricks", url, "openai_chat", stream=False)


async def test_a_response_that_failed_is_an_answer_that_says_so_itself() -> None:
    send_only_what_is_asked()
    failed = {"error": {"code": "server_error", "message": "out of beans"}, "output": [], "status": "failed"}
    body = encode({"id": "resp_1", "object": "response", "created_at": 1, "model": "x", "tools": [], **failed})
    async with saying(holding(body)) as url:
        told = object_in(await asked("azure", url, "openai_responses", stream=False))
    assert (told["status"], told["error"]) == ("failed", failed["error"])


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "ollama_chat", "ollama", "cohere_chat", "databricks"])
async def test_what_is_no_event_of_its_format_is_the_providers_fault(provider: str) -> None:
    for body in (*NOTHINGS, PAGE):
        for streamed in (body, write_event(body)):
            received: list[bytes] = []
            with pytest.raises(UpstreamError, match=f"^({'|'.join(UNREADABLE)})$") as raised:
                await read(provider, streamed, received)
            assert (raised.value.status, raised.value.kind) == (502, "upstream_error"), streamed


@pytest.mark.parametrize(
    ("provider", "event"),
    [
        ("cohere_chat", {"type": "content-delta", "index": 0, "delta": "hunter2"}),
        ("gemini", {"candidates": "hunter2"}),
        ("mistral", {"choices": "hunter2"}),
        ("ollama_chat", {"done": "hunter2", "message": {}}),
        ("databricks", {**CHUNK, "choices": [{"index": 0, "delta": {"content": 2}}]}),
    ],
)
async def test_an_event_of_a_wrong_type_is_not_quoted(provider: str, event: JsonObject) -> None:
    written = encode(event) + b"\n" if provider == "ollama_chat" else write_event(encode(event))
    with pytest.raises(UpstreamError) as raised:
        await read(provider, written, [])
    assert raised.value.message == "upstream sent something that does not fit its format"


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "ollama_chat"])
@pytest.mark.parametrize("body", [b"", PAGE], ids=["nothing", "a page"])
async def test_an_answer_that_says_nothing_is_no_whole_one(provider: str, body: bytes) -> None:
    received: list[bytes] = []
    with pytest.raises(UpstreamError):
        await read(provider, body, received)
    assert b"[DONE]" not in b"".join(received)


CHAT_HALF = CHUNK | {"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": None}]}
OLLAMAS_HALF = b'{"model":"x","created_at":"","message":{"role":"assistant","content":"half"},"done":false}\n'
COHERES_HALF = b'{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"half"}}}}\n'
OPENAIS = write_event(b'{"error":{"message":"out of beans","type":"server_error","code":"beans"}}')
GOOGLES = b'{"error":{"code":400,"message":"out of beans","status":"INVALID_ARGUMENT"}}'
# Google sends errors without `data:`, too.
GOOGLES_LINES = b'{\n"error": {\n"code": 500,\n"message": "out of beans",\n"status": "INTERNAL"\n}\n}'


@pytest.mark.parametrize(
    ("provider", "half", "error"),
    [
        *((provider, write_event(encode(CHAT_HALF)), OPENAIS) for provider in ("azure", "azure_ai", "databricks")),
        ("snowflake", write_event(encode(CHAT_HALF)), write_event(b'{"error":"out of beans"}')),
        ("gemini", GEMINI_HALF, write_event(GOOGLES)),
        ("gemini", GEMINI_HALF, GOOGLES_LINES),
        ("ollama_chat", OLLAMAS_HALF, b'{"error":"out of beans"}\n'),
        ("cohere_chat", COHERES_HALF, b'{"type":"message-end","delta":{"error":"out of beans"}}'),
    ],
)
async def test_an_error_in_mid_stream_keeps_its_providers_words(provider: str, half: bytes, error: bytes) -> None:
    send_only_what_is_asked()
    received: list[bytes] = []
    with pytest.raises(UpstreamError) as raised:
        await read(provider, half + error, received)
    assert str(raised.value) == "out of beans"
    assert b"half" in b"".join(received)


async def test_an_answer_that_stops_halfway_is_no_whole_one() -> None:
    received: list[bytes] = []
    with pytest.raises(UpstreamError, match="before"):
        await read("gemini", GEMINI_HALF, received)
    assert b"half" in b"".join(received)
    assert b'"stop"' not in b"".join(received)


async def test_an_answer_that_was_finished_is_a_whole_one() -> None:
    received: list[bytes] = []
    await read("gemini", GEMINI_HALF + GEMINI_HALF.replace(b'"index"', b'"finishReason":"STOP","index"'), received)
    assert b'"stop"' in b"".join(received)
