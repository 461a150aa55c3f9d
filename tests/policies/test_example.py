"""The worked example of docs/policies.md: it is what the guide shows, and does what the guide says."""

import re
from pathlib import Path

import pytest

import streamviz.core.policy
import streamviz.policy
from streamviz.policies import build
from streamviz.policy import Policy
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


async def test_an_apology_of_one_letter_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "examples")
    policy = build("python", {"path": "whole_sentences.WholeSentences", "parameters": {"apology": "!"}})
    stream = chunks(*(delta(content=text) for text in ("One!", " two", " three.")))
    assert (await Run([active(policy)]).finish(stream)).tape == b"".join(chunk.raw for chunk in stream)


def test_a_policy_needs_nothing_but_the_public_names() -> None:
    imported = re.findall(r"from (streamviz\S*) import", (DOCS / "examples" / "whole_sentences.py").read_text())
    assert imported == ["streamviz.policy"]


def test_the_public_names_cover_what_the_hooks_take_and_give() -> None:
    words = {word for hook in vars(Policy).values() for word in _words_of(hook)}
    assert words & set(vars(streamviz.core.policy)) - {"Awaitable", "Callable"} <= set(streamviz.policy.__all__)


def _words_of(hook: object) -> set[str]:
    told = getattr(hook, "__annotations__", {})
    return set(re.findall(r"[A-Z]\w+", " ".join(str(each) for each in told.values())))
