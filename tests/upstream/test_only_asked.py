"""LiteLLM makes only the requested call: every attempted connection is noted."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import ClientFacingError, RequestError
from streamviz.core.tokens import Tokens
from streamviz.upstream.prices import price
from streamviz.upstream.sending import _send_only_asked_async, send_only_what_is_asked
from streamviz.upstream.targets import Lane, RoutePlan, resolve
from streamviz.upstream.translated import open_translated

# LiteLLM imports more of itself at the first call, some of it with warnings.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("bare_environment", "as_in_a_server"),
]

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
NOWHERE = [
    *("custom_openai/http://127.0.0.1:9/v1", "huggingface/http://127.0.0.1:9", "huggingface/org/model", "openai/../x"),
    *("azure/../../x?y", "azure/a/b", "azure/x%2f..", "bedrock/arn:aws:bedrock:us-east-1:1:model/x", "gemini/../x?a=b"),
    *("bedrock/us-east-1/m", "vertex_ai/../../x", "vertex_ai/a/b", "ollama/x#y", "github_copilot/gpt-4o"),
    *("chatgpt/gpt-5", "lemonade/m", "docker_model_runner/m", "text-completion-openai/gpt-3.5-turbo-instruct"),
    *(
        "petals/x",
        "replicate/a/b",
        "sagemaker/x",
        "openai/" + "x" * 301,
        "openai/a\x00b",
        "openai/a b",
        "openai/a\r\nb",
    ),
    *("openrouter/a//b", "openai//evil.test/x", "groq/a\\b", "OPENAI/gpt-4o", "watsonx/x", "xinference/x", "vllm/x"),
    *("openai/", "gemini", "/", "nvidia_riva/localhost:1", "predibase/x", "gemini/x;y", "azure/../x"),
]


class Connections:
    """The addresses that this process tries to connect to, while enabled. An audit hook of the interpreter cannot be
    removed, so there is a single one, which is only active at times."""

    def __init__(self) -> None:
        self.tried: list[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.tried is None:
            return
        if event == "socket.connect":
            self.tried.append(str(arguments[1]))
        elif event == "socket.getaddrinfo":
            self.tried.append(str(arguments[:2]))


CONNECTIONS = Connections()


@pytest.fixture
def as_in_a_server() -> None:
    send_only_what_is_asked()


@pytest.fixture
def tried() -> Iterator[list[str]]:
    """Every address that is looked up or connected to."""
    CONNECTIONS.tried = []
    yield CONNECTIONS.tried
    CONNECTIONS.tried = None


class Upstream:
    """A server that refuses or redirects every call, and records the requests."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[web.BaseRequest] = []
        self.sends_on_to = ""
        self.status = 400

    def others(self, tried: list[str]) -> list[str]:
        """The addresses that were tried besides this server."""
        port = self.address.rpartition(":")[2]
        return [each for each in tried if port not in each]


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        found.asked.append(request)
        if found.sends_on_to:
            return web.Response(status=307, headers={"location": found.sends_on_to + request.path})
        return web.json_response({"error": {"message": "No."}}, status=found.status)

    server = RawTestServer(answer)
    await server.start_server()
    found = Upstream(f"http://127.0.0.1:{server.port}")
    yield found
    await server.close()


def request(wire_format: str, **part: Any) -> dict[str, object]:
    """A call with a text and optionally another part in its only message."""
    kind = {"openai_responses": {"type": "input_text"}, "gemini": {}}.get(wire_format, {"type": "text"})
    content: list[object] = [{**kind, "text": "Hello"}, *([part] if part else [])]
    if wire_format == "gemini":
        return {"model": "r", "contents": [{"role": "user", "parts": content}]}
    turns = [{"role": "user", "content": content}]
    if wire_format == "openai_responses":
        return {"model": "r", "input": turns}
    return {"model": "r", "max_tokens": 9, "messages": turns}


async def call(route: RoutePlan, wire_format: str, said: dict[str, object]) -> ClientFacingError | None:
    """The error of a translated call; None if the call would take the raw lane."""
    target = resolve("r", wire_format, route)
    if target.lane is Lane.RAW:
        return None
    with pytest.raises(ClientFacingError) as raised:
        async for _ in await open_translated(target, said, silence_seconds=20):
            pass
    return raised.value


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("model", NOWHERE)
def test_a_name_chooses_no_host_and_no_path(model: str, wire_format: str, tried: list[str]) -> None:
    with pytest.raises(RequestError) as raised:
        resolve(model, wire_format).require_key()
    assert raised.value.status == 404
    assert tried == []


@pytest.mark.parametrize("model", ["ollama/llama3", "lm_studio/x", "hosted_vllm/x", "llamafile/x", "litellm_proxy/x"])
def test_no_server_on_this_machine_is_called_that_nobody_named(model: str, tried: list[str]) -> None:
    for target in (resolve(model, FORMATS[0]), resolve(model, FORMATS[0]).with_key("sk-clients-own")):
        with pytest.raises(RequestError) as raised:
            target.require_key()
        assert (raised.value.status, "_API_BASE" in raised.value.message) == (401, True)
    assert tried == []


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize(
    "target",
    [
        *("ollama/llama3", "ollama_chat/llama3", "huggingface/org/model", "petals/x", "lemonade/x", "vllm/org/model"),
        *("together_ai/org/model", "groq/x", "gemini/gemini-x", "azure/x", "text-completion-openai/x", "anthropic/x"),
    ],
)
async def test_a_route_is_called_and_nobody_else(
    upstream: Upstream, tried: list[str], target: str, wire_format: str
) -> None:
    await call(RoutePlan(target, upstream.address, key="sk-route"), wire_format, request(wire_format))
    name, _, model = target.partition("/")
    assert price(model, name, Tokens(10, 10)) is None
    assert upstream.others(tried) == []
    assert len(upstream.asked) <= 1


async def test_no_metadata_of_a_cloud_is_looked_up(upstream: Upstream, tried: list[str]) -> None:
    for target in ("bedrock/anthropic.claude-v2", "sagemaker/x", "sagemaker_chat/x", "bedrock/converse/x"):
        await call(RoutePlan(target, upstream.address, key="k"), FORMATS[0], request(FORMATS[0]))
    assert upstream.others(tried) == []


PICTURES: dict[str, Callable[[str], dict[str, object]]] = {
    "openai_chat": lambda url: {"type": "image_url", "image_url": {"url": url}},
    "anthropic_messages": lambda url: {"type": "image", "source": {"type": "url", "url": url}},
    "openai_responses": lambda url: {"type": "input_image", "image_url": url},
    "gemini": lambda url: {"fileData": {"mimeType": "image/png", "fileUri": url}},
}


@pytest.mark.parametrize("wire_format", PICTURES)
@pytest.mark.parametrize("target", ["anthropic/claude-x", "gemini/gemini-x", "bedrock/anthropic.claude-v2"])
async def test_what_a_request_points_at_is_not_fetched(
    upstream: Upstream, tried: list[str], target: str, wire_format: str
) -> None:
    said = request(wire_format, **PICTURES[wire_format](f"{upstream.address}/picture.png"))
    await call(RoutePlan(target, "http://127.0.0.1:9", key="k"), wire_format, said)
    assert upstream.asked == []
    assert not [each for each in tried if upstream.address.rpartition(":")[2] in each]


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("provider", ["anthropic", "azure", "gemini", "groq", "openai", "cohere", "ollama_chat"])
async def test_a_redirect_is_not_followed(upstream: Upstream, wire_format: str, provider: str) -> None:
    arrived = asyncio.Event()

    async def note(_: web.BaseRequest) -> web.StreamResponse:
        arrived.set()
        return web.Response(status=400)

    other = RawTestServer(note)
    await other.start_server()
    upstream.sends_on_to = f"http://localhost:{other.port}"
    error = await call(RoutePlan(f"{provider}/x", upstream.address, key="sk-route"), wire_format, request(wire_format))
    await other.close()
    assert not arrived.is_set()
    assert error is None or error.status >= 500


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "groq", "gemini", "cohere"])
async def test_an_address_without_a_credential_gets_none(
    upstream: Upstream, bare_environment: pytest.MonkeyPatch, wire_format: str, provider: str
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GROQ", "GEMINI", "COHERE", "AZURE", "OLLAMA"):
        bare_environment.setenv(f"{name}_API_KEY", "sk-precious-of-the-environment")
    bare_environment.setenv("AWS_ACCESS_KEY_ID", "sk-precious-id")
    bare_environment.setenv("AWS_SECRET_ACCESS_KEY", "sk-precious-of-the-environment")
    route = RoutePlan(f"{provider}/x", upstream.address)
    target = resolve("r", wire_format, route)
    assert "precious" not in f"{target.key} {target.headers}"
    await call(route, wire_format, request(wire_format))
    for asked in upstream.asked:
        assert "precious" not in f"{asked.url} {dict(asked.headers)}"


@pytest.mark.parametrize("provider", ["azure", "bedrock", "vertex_ai", "sagemaker"])
def test_an_address_without_a_credential_is_not_called_where_another_would_be_sent(provider: str) -> None:
    with pytest.raises(RequestError) as raised:
        resolve("r", FORMATS[0], RoutePlan(f"{provider}/x", "http://127.0.0.1:9"))
    assert raised.value.code == "route_unusable"


async def test_of_a_refusal_its_beginning_is_read() -> None:
    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=429, body=b"x" * 1_000_000, headers={"retry-after": "7"})

    async with RawTestServer(refuse) as server, httpx.AsyncClient() as client:
        asked = client.build_request("POST", str(server.make_url("/")))
        for stream in (True, False):
            refused = await _send_only_asked_async(client, asked, stream=stream)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
            assert await refused.aread() == b"x" * 16_384


@pytest.mark.parametrize("packing", ["br", "gzip"])
async def test_a_refusal_that_cannot_be_unpacked_is_one(packing: str) -> None:
    async def refuse(_: web.BaseRequest) -> web.Response:
        return web.Response(status=429, body=b"no such packing", headers={"content-encoding": packing})

    async with RawTestServer(refuse) as server, httpx.AsyncClient() as client:
        refused = await _send_only_asked_async(client, client.build_request("POST", str(server.make_url("/"))))
    assert (refused.status_code, await refused.aread()) == (429, b"")


async def test_only_what_is_unpacked_here_is_asked_for() -> None:
    """With more packages installed, httpx would accept the encodings that those decompress."""

    async def repeat(request: web.BaseRequest) -> web.Response:
        return web.json_response([request.headers["accept-encoding"]])

    installed = {"accept-encoding": "gzip, deflate, br, zstd"}
    async with RawTestServer(repeat) as server, httpx.AsyncClient(headers=installed) as client:
        asked = client.build_request("POST", str(server.make_url("/")))
        assert (await _send_only_asked_async(client, asked)).json() == ["gzip, deflate"]


@pytest.mark.parametrize(
    ("provider", "wire_format"),
    [("sambanova", "anthropic_messages"), ("zai", "openai_responses"), ("mistral", "embeddings")],
)
async def test_a_refused_call_is_made_once(upstream: Upstream, provider: str, wire_format: str) -> None:
    """Whether and when to retry is up to the client."""
    upstream.status = 503
    target = resolve("x", wire_format, RoutePlan(f"{provider}/x", upstream.address, key="test"))
    said: dict[str, object] = {"input": "Hello"} if wire_format == "embeddings" else request(wire_format)
    with pytest.raises(ClientFacingError) as raised:
        await open_translated(target, said, silence_seconds=30)
    assert (raised.value.status, len(upstream.asked)) == (503, 1)
