"""Credentials for third parties in a request: none of them is recorded."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.stream import LiveStream
from streamviz.proxy.requests import read_request
from streamviz.proxy.said import Said
from tests.exchange.support import run

CANARY = "canary-4b1f"
AT = "mcp.example/sse"
SECRETS = {"network_policy": {"type": "allowlist", "domain_secrets": [{"name": "T", "value": CANARY}]}}
MCP = {"type": "mcp", "server_label": "docs", "server_url": f"https://user:{CANARY}@{AT}?key={CANARY}"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Anthropic's MCP servers": (
        "anthropic_messages",
        {"mcp_servers": [{"type": "url", "url": f"https://{AT}?t={CANARY}", "authorization_token": CANARY}]},
    ),
    "OpenAI's MCP servers": (
        "openai_responses",
        {"tools": [{**MCP, "authorization": CANARY, "headers": {"X-Api-Key": CANARY}}, {"type": "web_search"}]},
    ),
    "one in a namespace": ("openai_responses", {"tools": [{"type": "namespace", "tools": [MCP]}]}),
    "a name in other capitals": ("openai_responses", {"tools": [{**MCP, "Authorization": CANARY}]}),
    "a list where a text belongs": ("openai_responses", {"tools": [{"authorization": [[CANARY]]}]}),
    "sandboxes": ("openai_responses", {"tools": [{"type": "shell", "environment": SECRETS, "container": SECRETS}]}),
    "Google's MCP servers": (
        "gemini",
        {"tools": [{"mcpServers": [{"streamableHttpTransport": {"url": AT, "headers": {"Authorization": CANARY}}}]}]},
    ),
    "Google's searches": (
        "gemini",
        {"tools": [{"retrieval": {"externalApi": {"apiAuth": {"apiKeyConfig": {"apiKeyString": CANARY}}}}}]},
    ),
    "Azure's searches": (
        "openai_chat",
        {"data_sources": [{"parameters": {"authentication": {"type": "api_key", "key": CANARY}}}]},
    ),
    "those of their embeddings": (
        "openai_chat",
        {"dataSources": [{"parameters": {"embedding_dependency": {"authentication": {"key": CANARY}}}}]},
    ),
    "Google's, as in its protocol": (
        "gemini",
        {"tools": [{"google_maps": {"auth_config": {"api_key_config": {"api_key_string": CANARY}}}}]},
    ),
    "searches that Google calls": (
        "gemini",
        {"tools": [{"exaAiSearch": {"apiKey": CANARY}, "parallel_ai_search": {"api_key": CANARY}}]},
    ),
    "where Google's searches are": (
        "gemini",
        {"tools": [{"retrieval": {"externalApi": {"endpoint": f"https://{AT}?key={CANARY}"}}}]},
    ),
    "Google's tokens": (
        "gemini",
        {"tools": [{"retrieval": {"externalApi": {"authConfig": {"oauthConfig": {"accessToken": CANARY}}}}}]},
    ),
    "headers in a text": ("openai_responses", {"tools": [{**MCP, "headers": f"Authorization: {CANARY}"}]}),
    "headers in a list": ("openai_responses", {"tools": [{**MCP, "headers": [f"Authorization: {CANARY}"]}]}),
    "headers in pairs": ("openai_chat", {"extra_headers": [["Authorization", CANARY]]}),
    "headers in objects": ("openai_chat", {"extra_headers": [{"name": "Authorization", "value": CANARY}]}),
    "headers of xAI's MCP servers": ("openai_responses", {"tools": [{**MCP, "extra_headers": {"X-Api-Key": CANARY}}]}),
    "Groq's tools": (
        "openai_chat",
        {"compound_custom": {"tools": {"wolfram_settings": {"authorization": CANARY}}}},
    ),
    "tools deep in namespaces": ("openai_responses", {"tools": [{"tools": [{"tools": [{"tools": [MCP]}]}]}]}),
    "tools in lists": ("openai_responses", {"tools": [[[MCP]]]}),
    "a name with hyphens": ("openai_chat", {"api-key": CANARY, "extra-headers": {"x": CANARY}}),
    "a text where a login belongs": ("openai_chat", {"data_sources": [{"parameters": {"authentication": CANARY}}]}),
    "a login of a new kind": ("gemini", {"tools": [{"googleMaps": {"authConfig": {"tokenConfig": {"a": CANARY}}}}]}),
    "a sandbox's by their names": (
        "openai_responses",
        {"tools": [{"container": {"network_policy": {"domain_secrets": {"mcp.example": CANARY}}}}]},
    ),
    "an address's end": ("openai_responses", {"tools": [{**MCP, "server_url": f"https://{AT}#token={CANARY}"}]}),
    "tools that were searched for": (
        "openai_responses",
        {"input": [{"type": "tool_search_output", "tools": [{**MCP, "authorization": CANARY}]}, "odd"]},
    ),
    "MCP servers by their names": ("anthropic_messages", {"mcp_servers": {"docs": {"authorization_token": CANARY}}}),
    "clouds'": (
        "openai_chat",
        dict.fromkeys(("aws_secret_access_key", "aws_session_token", "azure_ad_token", "client_secret"), CANARY),
    ),
    "Vertex'": ("openai_chat", {"vertex_credentials": {"private_key": CANARY}}),
    "an address with a password": ("openai_chat", {"api_base": f"http://u:{CANARY}@h/", "base_url": f"x?k={CANARY}"}),
    "headers and queries": ("openai_chat", {"headers": {"authorization": CANARY}, "extra_query": {"key": CANARY}}),
    "in a body within": ("openai_chat", {"extra_body": {"api_key": CANARY, "tools": [MCP]}}),
    "plugins'": ("openai_chat", {"plugins": [{"id": "web", "api_key": CANARY}], "provider": {"api_key": CANARY}}),
    "Vercel's": ("openai_chat", {"providerOptions": {"gateway": {"byok": {"openai": [{"apiKey": CANARY}]}}}}),
    "LiteLLM's": ("openai_chat", {"api_key": CANARY, "extra_headers": {"authorization": CANARY}}),
}
# An address that is signed, with a login besides.
SIGNED = f"https://user:{CANARY}@pictures.example/a.png?sig={CANARY}#{CANARY}"
SHOWN: dict[str, tuple[str, list[Any]]] = {
    "a chat's": (
        "openai_chat",
        [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": SIGNED}}]},
            {"role": "user", "content": [{"type": "video_url", "videoUrl": SIGNED}, {"file": {"file_data": SIGNED}}]},
            {"role": "tool", "content": [{"type": "audio_url", "audio_url": {"url": SIGNED}}]},
            {"role": "user", "content": [{"type": "document_url", "document_url": SIGNED}]},
            {"role": "assistant", "content": "", "images": [{"image_url": {"url": f" {SIGNED}"}}]},
        ],
    ),
    "Anthropic's": (
        "anthropic_messages",
        [
            {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": SIGNED}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"source": {"url": SIGNED}}]}]},
            {"role": "user", "content": [{"source": {"type": "content", "content": [{"source": {"url": SIGNED}}]}}]},
        ],
    ),
    "of responses": (
        "openai_responses",
        [
            {"role": "user", "content": [{"type": "input_image", "image_url": SIGNED}, {"file_url": SIGNED}]},
            {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": SIGNED}},
            {"type": "function_call_output", "output": [{"type": "input_image", "image_url": SIGNED}]},
        ],
    ),
    "Google's": (
        "gemini",
        [
            {"role": "user", "parts": [{"fileData": {"fileUri": SIGNED}}, {"file_data": {"file_uri": SIGNED}}]},
            {"role": "user", "parts": [{"functionResponse": {"parts": [{"fileData": {"fileUri": SIGNED}}]}}]},
        ],
    ),
}
# Named like credentials, but harmless.
PLAIN: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {"name": "sign_in", "parameters": {"properties": {"api_key": {"type": "string"}}}},
        },
        {
            "type": "mcp",
            "server_url": f"https://{AT}",
            "require_approval": "never",
            "headers": {},
            "authorization": None,
        },
    ],
    "metadata": {"headers": "three"},
    "mcp_servers": ["docs", {"name": "docs", "url": f"https://{AT}"}],
    "input": [{"type": "message", "content": "headers"}, [1]],
    "provider": {"order": ["openai"], "sort": "price"},
}


def _kept(wire_format: str, more: dict[str, Any]) -> tuple[bytes, bytes]:
    """What is forwarded of a request, and what is recorded."""
    known = WIRE_FORMATS[wire_format]
    request = read_request(json.dumps({"model": "m", known.turns: [], **more}).encode(), known)
    stream = cast(LiveStream, SimpleNamespace())
    Said(known, "", "").keep(stream, run(request.kept()), ())
    return request.body, stream.request


@pytest.mark.parametrize(("wire_format", "more"), REQUESTS.values(), ids=REQUESTS)
def test_credentials_for_third_parties_go_upstream_and_are_kept_nowhere(wire_format: str, more: dict[str, Any]) -> None:
    sent, kept = _kept(wire_format, more)
    assert sent.count(CANARY.encode()) == json.dumps(more).count(CANARY)
    assert CANARY.encode() not in kept
    assert json.loads(kept).keys() == json.loads(sent).keys()


@pytest.mark.parametrize(("wire_format", "turns"), SHOWN.values(), ids=SHOWN)
def test_addresses_of_what_a_model_is_shown_are_kept_without_what_signs_them(wire_format: str, turns: Any) -> None:
    sent, kept = _kept(wire_format, {WIRE_FORMATS[wire_format].turns: turns})
    assert json.loads(sent)[WIRE_FORMATS[wire_format].turns] == turns
    assert CANARY.encode() not in kept
    assert kept.count(b"https://pictures.example/a.png?***#***") == json.dumps(turns).count("pictures.example")


def test_a_scheme_in_capitals_is_one_too() -> None:
    part = {"type": "input_image", "image_url": SIGNED.replace("https", "HTTPS")}
    _, kept = _kept("openai_responses", {"input": [{"role": "user", "content": [part]}]})
    assert CANARY.encode() not in kept


@pytest.mark.parametrize(
    "address",
    [
        f"ftp://user:{CANARY}@pictures.example/a.png",
        f"s3://pictures.example/a.png?sig={CANARY}",
        f"pictures.example/a.png?sig={CANARY}",
        f"user:{CANARY}@pictures.example/a.png",
        f"https:user:{CANARY}@pictures.example/a.png",
        f"https:\t//user:{CANARY}@pictures.example/a.png",
        f"\\\\user:{CANARY}@pictures.example\\a.png",
        f"\nhttps://pictures.example/a.png?sig={CANARY}",
        f"\u00a0https://pictures.example/a b.png?sig={CANARY}",
        f"\u3000//user:{CANARY}@pictures.example/a.png",
        f"\u200bpictures.example/a.png?sig={CANARY} ",
        f'https://pictures.example/"a.png?sig={CANARY}',
    ],
)
@pytest.mark.parametrize("shown", [{"image_url": {"url": ""}}, {"imageURL": ""}, {"image-url": ""}])
def test_an_address_of_any_form_is_kept_without_what_signs_it(address: str, shown: dict[str, Any]) -> None:
    part = json.loads(json.dumps(shown).replace('""', json.dumps(address)))
    sent, kept = _kept("openai_chat", {"messages": [{"role": "user", "content": [part]}]})
    assert json.loads(sent)["messages"][0]["content"] == [part]
    assert CANARY.encode() not in kept
    assert b"pictures.example" in kept


@pytest.mark.parametrize(
    ("wire_format", "asked"),
    [
        ("openai_responses", {"prompt": {"variables": {"a": {"type": "input_image", "image_url": SIGNED}}}}),
        ("openai_responses", {"tools": [{"type": "image_generation", "input_image_mask": {"image_url": SIGNED}}]}),
        ("gemini", {"systemInstruction": {"parts": [{"fileData": {"fileUri": SIGNED}}]}}),
        ("anthropic_messages", {"requests": [{"params": {"messages": SHOWN["Anthropic's"][1]}}]}),
    ],
)
def test_so_are_those_elsewhere_in_a_request(wire_format: str, asked: dict[str, Any]) -> None:
    _, kept = _kept(wire_format, asked)
    assert CANARY.encode() not in kept


def test_a_text_in_the_place_of_an_address_is_kept() -> None:
    part = {"type": "file", "file": "why? this is no address"}
    _, kept = _kept("openai_chat", {"messages": [{"role": "user", "content": [part, {"image_url": SIGNED}]}]})
    assert b"why? this is no address" in kept


def test_what_a_model_is_shown_is_kept_otherwise() -> None:
    shown = ["data:image/svg+xml,<a href='#b?c@d'>", "https://pictures.example/a.png", "AA=="]
    words = {"type": "text", "text": "https://a.example/?b#c"}
    pictures = [{"type": "image_url", "image_url": {"url": each, "detail": "low"}} for each in shown]
    for content in ([words, *pictures], "https://a.example/?b#c"):
        sent, kept = _kept("openai_chat", {"messages": [{"role": "user", "content": content}]})
        assert kept == sent


def test_a_request_without_credentials_is_kept_byte_for_byte() -> None:
    sent, kept = _kept("openai_responses", PLAIN)
    assert kept == sent
    [tool] = json.loads(_kept("openai_responses", {"tools": [{**MCP, "authorization": CANARY}]})[1])["tools"]
    assert tool == {**MCP, "server_url": f"https://{AT}?***", "authorization": "***"}
