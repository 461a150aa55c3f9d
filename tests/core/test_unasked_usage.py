"""Usage that we requested does not reach a client that did not."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.context import Frame
from streamviz.core.unasked_usage import UnaskedUsage
from streamviz.core.verdicts import Decision, Verdict
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta

HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
COMPACT = {"separators": (",", ":")}


def chunk(choices: list[Any], layout: dict[str, Any], **more: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps({**HEAD, "choices": choices, **more}, **layout).encode()


def said(text: str) -> list[Any]:
    return [{"index": 0, "delta": {"content": text}, "finish_reason": None}]


def left(*raws: bytes) -> bytes:
    frames = UnaskedUsage().left_of([Frame(raw, seq) for seq, raw in enumerate(raws)])
    return b"".join(frame.raw for frame in frames)


@pytest.mark.parametrize("layout", [COMPACT, {}], ids=["compact", "spaced"])
@pytest.mark.parametrize("text", ["Hello", 'say ,"usage":null and , "usage": null', "\\"])
def test_the_client_gets_what_it_would_have_got(layout: dict[str, Any], text: str) -> None:
    asked = [chunk(said(text), layout, usage=None, obfuscation="x"), chunk([], layout, usage=USAGE, obfuscation="y")]
    assert left(*asked, b"data: [DONE]\n\n") == chunk(said(text), layout, obfuscation="x") + b"data: [DONE]\n\n"


def test_where_it_stands_before_the_choices_too() -> None:
    raw = b'data: {"id":"c","usage":null,"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    assert left(raw) == b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'


def test_usage_beside_a_choice_is_told_unasked() -> None:
    raw = chunk(said(""), COMPACT, usage=USAGE)
    assert left(raw) == raw


def test_a_chunk_without_a_choice_that_tells_something_else_stays() -> None:
    filtered = chunk([], COMPACT, prompt_filter_results=[], usage=None)
    assert left(filtered) == chunk([], COMPACT, prompt_filter_results=[])


def test_usage_in_another_member_stays() -> None:
    raw = chunk([{"index": 0, "delta": {"a": 1, "usage": None}}], COMPACT)
    assert left(raw, raw) == raw + raw
    both = chunk([{"index": 0, "delta": {"a": 1, "usage": None}}], COMPACT, usage=None)
    assert left(both) == both


def test_frames_keep_their_chunk() -> None:
    frames = UnaskedUsage().left_of([Frame(chunk(said("a"), COMPACT, usage=None), 7)])
    assert [(frame.seq, frame.origin) for frame in frames] == [(7, "upstream")]


@pytest.mark.parametrize("raw", [b"", b": \n\n", b"data: [DONE]\n\n", b'data: {"usage"\n\n', b'"usage"', b'}"usage"{'])
def test_what_is_no_chunk_passes(raw: bytes) -> None:
    assert left(raw) == raw


@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.DENY, Decision.HALT])
async def test_what_policies_leave_of_a_stream_has_none_of_it(decision: Decision) -> None:
    said = [*chunks(delta(content="Well."), calls(call(0, "a", "f", "{}")), delta(finish="tool_calls"))]
    asked = [
        Chunk(each.seq, each.received_at, (raw := each.raw.replace(b"}\n\n", b',"usage":null}\n\n')), raw[6:-2])
        for each in said
    ]
    usage = chunk([], COMPACT, usage=USAGE)
    asked.append(Chunk(len(asked), 0, usage, usage[6:-2]))
    it = await Run([active(Opinion(lambda _: Verdict(decision)))]).finish(asked)
    unasked = await Run([active(Opinion(lambda _: Verdict(decision)))]).finish(said)
    left = UnaskedUsage().left_of(it.context.outbox)
    assert b"".join(frame.raw for frame in left) == unasked.tape
