"""A stream of one format written in another, as the translating lane does it."""

from typing import Any

import pytest

from streamviz.core.wire.translator import Translator
from tests.core.support import call, calls, chunks, delta
from tests.core.wire import legal
from tests.core.wire.official import payloads, read_back

CLIENT_FORMATS = ("anthropic_messages", "openai_responses", "gemini")


def translated(target: str, *stream: Any, names: dict[str, str] | None = None) -> bytes:
    translator = Translator("openai_chat", target, names or {})
    return b"".join(map(translator.take, chunks(*stream))) + translator.end()


@pytest.mark.parametrize("target", ["anthropic_messages", "openai_responses"])
def test_it_takes_over_who_the_message_is(target: str) -> None:
    first = payloads(translated(target, delta(content="Hi"), delta(finish="stop")))[0]
    message = first.get("message") or first["response"]
    assert (message["id"], message["model"]) == ("chatcmpl-1", "m")
    assert message.get("created_at", 1) == 1


def test_it_takes_over_who_the_message_is_for_gemini() -> None:
    first, last = payloads(translated("gemini", delta(content="Hi"), delta(finish="stop")))
    assert (first["responseId"], first["modelVersion"]) == ("chatcmpl-1", "m")
    assert last["candidates"] == [{"content": {"role": "model", "parts": []}, "finishReason": "STOP", "index": 0}]


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_tools_have_the_clients_own_names(target: str) -> None:
    data = translated(
        target,
        calls(call(0, "call_1", "cut_1")),
        calls(call(0, arguments="{}")),
        calls(call(1, "call_2", "whole", "{}")),
        delta(finish="tool_calls"),
        names={"cut_1": "cut_short_for_chat"},
    )
    assert [name for _, name, _ in read_back(target, data).calls] == ["cut_short_for_chat", "whole"]
    legal.check(target, payloads(data))


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_what_has_no_place_in_a_format_is_named(target: str) -> None:
    translator = Translator("openai_chat", target)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    stream = chunks(delta(images=[image]), delta(audio={"data": "AAAA"}), delta(audio={"data": "AAAA"}))
    assert b"AAAA" not in b"".join(map(translator.take, stream))
    assert translator.left_out == ("images of the answer", "audio of the answer")
    for n in range(30):
        translator.take(chunks(delta(content=[{"type": f"{n}" * 1000, "x": "y"}]))[0])
    assert (len(translator.left_out), max(map(len, translator.left_out))) == (20, 64)


@pytest.mark.parametrize("target", CLIENT_FORMATS)
def test_a_keep_alive_may_stand_anywhere(target: str) -> None:
    translator = Translator("openai_chat", target)
    stream = chunks(delta(content="Hi"), calls(call(0, "call_1", "f", "{")), calls(call(0, arguments="}")))
    data = b"".join(translator.take(chunk) + translator.keep_alive() for chunk in stream) + translator.end()
    told = read_back(target, data)
    assert (told.content, [call[1:] for call in told.calls]) == ("Hi", [("f", {})])
