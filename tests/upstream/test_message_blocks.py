"""Blocks of Anthropic's messages that chat has no equivalent for: turned into text, listed, or refused."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.upstream.message_blocks import sayable
from streamviz.upstream.targets import Lane, Target

GPT = Target("gpt-4o", "openai", "anthropic_messages", Lane.TRANSLATED)
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
PLAIN = {"type": "document", "title": "Notes", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}}
INNER = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "inner"}, PICTURE]}}
FOUND = {
    "type": "search_result",
    "source": "https://a.example",
    "title": "A page",
    "content": [{"type": "text", "text": "found"}],
}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def said(*blocks: Any, role: str = "user") -> tuple[Any, list[str]]:
    left_out: list[str] = []
    [message] = sayable(GPT, [{"role": role, "content": list(blocks)}], left_out)
    assert isinstance(message, dict)
    return message["content"], left_out


@pytest.mark.parametrize("is_result", [False, True])
def test_documents_and_search_results_are_said_as_texts(is_result: bool) -> None:
    blocks = [PLAIN, INNER, FOUND, PICTURE, text("And?")]
    content, left_out = said(*([{"type": "tool_result", "content": blocks}] if is_result else blocks))
    assert (content[0]["content"] if is_result else content) == [
        *(text("Notes"), text("plain"), text("inner"), PICTURE),
        *(text("A page\nhttps://a.example"), text("found"), PICTURE, text("And?")),
    ]
    assert left_out == []


def test_a_tool_that_claude_code_found_is_named_to_the_model() -> None:
    [result], _ = said({"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "bash"}]})
    assert result["content"] == [text("Found the tool bash")]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("no such file", "The tool failed: no such file"),
        (None, "The tool failed:"),
        ([], [text("The tool failed:")]),
        ([text("no such file"), PICTURE], [text("The tool failed: no such file"), PICTURE]),
        ([PICTURE], [text("The tool failed:"), PICTURE]),
    ],
)
def test_a_model_is_told_that_a_tool_failed(given: Any, told: Any) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": given}
    assert said({**result, "is_error": True})[0] == [{**result, "is_error": True, "content": told}]
    assert said({**result, "is_error": False})[0] == [{**result, "is_error": False}]


def test_what_anthropic_ran_itself_is_left_out_and_named() -> None:
    call, result = {"type": "server_tool_use", "name": "web_search"}, {"type": "web_search_tool_result"}
    thought = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
    summary = {"type": "compaction", "content": "So far"}
    content, left_out = said(summary, thought, call, result, text("It says so"), role="assistant")
    assert content == [text("So far"), thought, text("It says so")]
    assert left_out == ["server_tool_use", "web_search_tool_result"]


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "image.source.file"),
        ({"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}}, "document.source.url"),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "document.source.file"),
        ({"type": "document", "source": {"type": "content", "content": [INNER]}}, "document.source.content"),
        ({"type": "tool_result", "content": [PDF]}, "document.source.base64"),
        ({"type": "container_upload", "file_id": "f"}, "container_upload"),
        ({"type": "x" * 1_000_000}, "x" * 50),
        ({}, "content"),
    ],
)
def test_what_a_model_would_not_see_is_refused_by_name(block: Any, name: str) -> None:
    with pytest.raises(RequestError) as raised:
        said(block)
    assert (raised.value.status, raised.value.param) == (400, name)
    assert raised.value.message.startswith(f"`{name}` changes the answer")


@pytest.mark.parametrize("messages", [["odd"], [{"role": "user", "content": "Hi"}], [{"role": "user", "content": [1]}]])
def test_whatever_else_there_is_goes_on_as_it_is(messages: Any) -> None:
    assert sayable(GPT, messages, []) == messages


def test_a_pdf_goes_on_as_it_is() -> None:
    assert said(PDF) == ([PDF], [])
