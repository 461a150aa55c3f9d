"""Streams of messages from a provider with its own framing, such as Bedrock for Anthropic's models."""

import asyncio
import base64
import json
import struct
import zlib
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from streamviz.core.sse import SSEParser
from streamviz.core.wire.translation import ANTHROPIC_MESSAGES
from streamviz.upstream.targets import RoutePlan, resolve
from streamviz.upstream.translated import open_translated
from streamviz.upstream.translated_answer import TranslatedAnswer

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
WORD = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    WORD,
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def framed(event: dict[str, Any]) -> bytes:
    """An event in a message of AWS's event stream format."""
    said = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in said.items()
    )
    body = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


class Bedrock:
    """Sends a message, or, if `is_endless`, words until its client has left."""

    def __init__(self, *, is_endless: bool = False) -> None:
        self.is_endless = is_endless
        self.has_ended = asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(request)
        try:
            for event in EVENTS:
                await response.write(framed(event))
                while self.is_endless and event is WORD:
                    await response.write(framed(WORD))
            return response
        finally:
            self.has_ended.set()


async def ask(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> TranslatedAnswer:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    plan = RoutePlan("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", str(server.make_url("")), key="test")
    request = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 9, "stream": True}
    return await open_translated(resolve("smart", ANTHROPIC_MESSAGES, plan), request, silence_seconds=30)


def served(bedrock: Bedrock) -> TestServer:
    application = web.Application()
    application.router.add_post("/{path:.*}", bedrock)
    return TestServer(application)


async def test_what_a_provider_frames_otherwise_comes_in_the_frames_of_the_format(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with served(Bedrock()) as server:
        data = b"".join([piece async for piece in await ask(server, monkeypatch)])
    parser = SSEParser()
    assert [json.loads(event.data) for event in (*parser.feed(data), *parser.close())] == EVENTS


async def test_a_stream_is_read_no_further_than_its_client_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    bedrock = Bedrock(is_endless=True)
    async with served(bedrock) as server:
        answer = await ask(server, monkeypatch)
        async for piece in answer:
            if b"text_delta" in piece:
                break
        answer.close()
        async with asyncio.timeout(60):
            await bedrock.has_ended.wait()
