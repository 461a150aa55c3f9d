"""Calls to providers through the network's own proxy, with a real one."""

import os
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.proxies import _proxy_to, leave_out_this_machine, proxy_for
from streamviz.upstream.raw import new_client, open_raw
from streamviz.upstream.targets import RoutePlan, Target, resolve
from streamviz.upstream.translated import open_translated
from tests.services import free_port

HELLO: JsonObject = {"messages": [{"role": "user", "content": "Hello"}]}
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def environment() -> Iterator[pytest.MonkeyPatch]:
    """An environment without a proxy, both before and after a test."""
    with pytest.MonkeyPatch.context() as environment:
        for name in (*NAMES, *map(str.lower, NAMES)):
            environment.delenv(name, raising=False)
        _proxy_to.cache_clear()
        yield environment
    _proxy_to.cache_clear()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    client = new_client(silence_seconds=30)
    yield client
    await client.close()


def served_at(address: str) -> Target:
    """No resolver knows a name that ends in `.invalid`: only a proxy can lead there."""
    return resolve("here", "openai_chat", RoutePlan("openai/m", address, "")).with_key("")


def claude_at(address: str) -> Target:
    return resolve("here", "openai_chat", RoutePlan("anthropic/claude-sonnet-4-5", address, "")).with_key("a-key")


async def test_a_call_goes_by_the_proxy(client: aiohttp.ClientSession, environment: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append((str(request.url), request.headers.get("proxy-authorization")))
        return web.json_response({"id": "1"})

    async with RawTestServer(answer) as proxy:
        environment.setenv("HTTP_PROXY", str(proxy.make_url("/").with_user("joe").with_password("secret")))
        answered = await open_raw(client, served_at("http://models.invalid/v1"), b"{}", {})
        assert b"".join([piece async for piece in answered]) == b'{"id": "1"}'
    assert asked == [("http://models.invalid/v1/chat/completions", "Basic am9lOnNlY3JldA==")]


async def test_a_proxy_that_refuses_is_named(client: aiohttp.ClientSession, environment: pytest.MonkeyPatch) -> None:
    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=403)

    async with RawTestServer(refuse) as proxy:
        environment.setenv("https_proxy", str(proxy.make_url("/")))
        with pytest.raises(UpstreamError) as raised:
            await open_raw(client, served_at("https://models.invalid/v1"), b"{}", {})
    assert (raised.value.status, raised.value.message) == (502, "openai could not be reached: its proxy answered 403")


async def test_a_proxy_that_is_away_is_named(client: aiohttp.ClientSession, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("ALL_PROXY", f"http://joe:secret@127.0.0.1:{free_port()}")
    with pytest.raises(UpstreamError) as raised:
        await open_raw(client, served_at("https://models.invalid/v1"), b"{}", {})
    assert raised.value.message == "openai could not be reached: its proxy: Connection refused"


# LiteLLM imports more of itself at the first call, some of it with warnings.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
async def test_translated_calls_know_networks_too(environment: pytest.MonkeyPatch) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        said = [{"type": "text", "text": "Here."}]
        return web.json_response({"id": "msg_1", "model": "m", "content": said, "usage": {}, "stop_reason": "end_turn"})

    async with RawTestServer(answer) as provider:
        environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
        environment.setenv("NO_PROXY", "127.0.0.0/8")
        answered = await open_translated(claude_at(str(provider.make_url("/"))), HELLO, silence_seconds=30)
        assert b"Here." in b"".join([piece async for piece in answered])


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("proxy", "why"), [("", "Connection refused"), ("http://127.0.0.1:{port}", "its proxy: Connection refused")]
)
async def test_a_translated_call_that_reaches_nobody_says_so_without_the_address(
    environment: pytest.MonkeyPatch, proxy: str, why: str
) -> None:
    port = free_port()
    environment.setenv("HTTP_PROXY", proxy.format(port=port))
    with pytest.raises(UpstreamError) as raised:
        await open_translated(claude_at(f"http://127.0.0.1:{port}"), HELLO, silence_seconds=30)
    assert (raised.value.status, raised.value.message) == (502, f"anthropic could not be reached: {why}")


@pytest.mark.parametrize(
    ("proxy", "no_proxy", "url", "found"),
    [
        ("http://proxy.example:3128", "", "https://api.openai.com/v1", "http://proxy.example:3128"),
        ("proxy.example:3128", "", "https://api.openai.com/v1", "http://proxy.example:3128"),
        ("http://proxy.example:3128", "other.example", "https://api.openai.com/v1", "http://proxy.example:3128"),
        ("http://proxy.example:3128", "corp.example,openai.com", "https://api.openai.com/v1", None),
        ("http://proxy.example:3128", "*", "https://api.openai.com/v1", None),
        ("http://proxy.example:3128", "", "http://127.0.0.1:8001/v1", None),
        ("http://proxy.example:3128", "corp.example", "http://[::1]:8001/v1", None),
        ("http://proxy.example:3128", "corp.example", "http://localhost:11434/v1", None),
        ("http://proxy.example:3128", "corp.example, 10.0.0.0/8", "http://10.1.2.3:8000/v1", None),
        ("http://proxy.example:3128", "fd00::/8", "http://[fd00::1]:8000/v1", None),
        ("http://proxy.example:3128", "10.0.0.0/8,fd00::/8", "http://11.1.2.3:8000/v1", "http://proxy.example:3128"),
        ("socks5://proxy.example:1080", "", "https://api.openai.com/v1", None),
        ("http://proxy.example:port", "", "https://api.openai.com/v1", None),
    ],
)
def test_which_proxy_a_call_goes_by(
    environment: pytest.MonkeyPatch, proxy: str, no_proxy: str, url: str, found: str | None
) -> None:
    environment.setenv("HTTPS_PROXY", proxy)
    environment.setenv("HTTP_PROXY", proxy)
    environment.setenv("NO_PROXY", no_proxy)
    leave_out_this_machine()
    assert proxy_for(url) == found


def test_this_machine_is_left_out_once(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("NO_PROXY", "corp.example")
    leave_out_this_machine()
    leave_out_this_machine()
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"] == "corp.example,localhost,127.0.0.1,::1"
