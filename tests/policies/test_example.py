"""The worked example of docs/policies.md: it is what the guide shows, and does what the guide says."""

from pathlib import Path

import pytest

from streamviz.core.policy import Policy
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import Run, active, chunks, delta

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Policy:
    monkeypatch.syspath_prepend(DOCS / "examples")
    return build("python", {"path": "whole_sentences.WholeSentences", "parameters": {"apology": "I apologise"}})


def test_the_guide_shows_the_example_as_it_is() -> None:
    assert (DOCS / "examples" / "whole_sentences.py").read_text() in (DOCS / "policies.md").read_text()


async def test_text_goes_out_a_sentence_at_a_time(example: Policy) -> None:
    stream = chunks(*(delta(content=text) for text in ("One ", "sentence.", " Another", "!", " And a rest")))
    it = Run([active(example)])
    assert await it.take(stream[0]) == b""
    assert await it.take(stream[1]) == stream[0].raw + stream[1].raw
    assert await it.take(*stream[2:4]) == b"".join(chunk.raw for chunk in stream[:4])
    assert await it.take(stream[4]) == b"".join(chunk.raw for chunk in stream[:4])
    assert (await it.finish()).tape == b"".join(chunk.raw for chunk in stream)


async def test_the_second_apology_ends_the_stream(example: Policy) -> None:
    texts = ("I apologise.", " Let me try.", " I apol", "ogise again.", " More.")
    it = await Run([active(example)]).finish(chunks(*(delta(content=text) for text in texts), "[DONE]"))
    [(kind, content)] = Reader().stream(it.tape)[0][0]
    assert (kind, content) == ("content", "I apologise. Let me try.[Halted by policy rule.]")
    assert it.context.halted_by == "rule"


async def test_one_object_serves_many_streams(example: Policy) -> None:
    runs = [Run([active(example)]) for _ in range(50)]
    for number, it in enumerate(runs):
        await it.take(*chunks(delta(content=f"{number} and no end")))
    for number, it in enumerate(runs):
        assert (await it.finish()).tape == chunks(delta(content=f"{number} and no end"))[0].raw
