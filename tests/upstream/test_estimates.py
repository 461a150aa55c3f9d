"""Estimates by a tokenizer: close enough, and from a sample for long texts."""

import pytest

from streamviz.core.blocks import StreamState
from streamviz.core.request import ModelCall
from streamviz.upstream import estimates
from streamviz.upstream.estimates import count_by, estimate_tokens, tokens_of
from streamviz.upstream.token_counts import tokens_in

WORDS = "The harvest is in, and the wine is not bad at all. "


@pytest.fixture(autouse=True)
def tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "_count", None)  # the previous one is restored at the end
    count_by(tokens_in)


@pytest.mark.parametrize("times", [1, 10, 1_000, 100_000])
def test_an_estimate_grows_with_the_text(times: int) -> None:
    assert estimate_tokens([WORDS * times]) == pytest.approx(13 * times, rel=0.1, abs=3)
    assert estimate_tokens([WORDS] * times) == pytest.approx(13 * times, rel=0.1, abs=3)


def test_of_very_many_messages_some_are_read() -> None:
    state = StreamState(finish_reasons={0: "stop"}, usage={"completion_tokens": 1})
    said = [{"role": "user", "content": WORDS}] * 30_000
    call = ModelCall("anthropic_messages", {"system": WORDS * 10_000, "messages": said})
    assert tokens_of(state, call).input == pytest.approx(13 * 40_000, rel=0.1)


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_no_text_has_no_tokens(texts: list[str]) -> None:
    assert estimate_tokens(texts) == 0


def test_a_long_text_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def count(text: str) -> int:
        read.append(len(text))
        return 1

    monkeypatch.setattr(estimates, "_count", count)
    estimate_tokens([WORDS * 100_000])
    assert sum(read) <= 5_000


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "\ud800" * 5_000, "漢字" * 3_000, "\x00\n " * 3_000, "<|endoftext|>" * 900]
)
def test_no_text_is_too_odd(text: str) -> None:
    assert estimate_tokens([text]) > 0


def test_a_message_of_very_many_lists_is_taken_apart() -> None:
    said = {"role": "user", **{f"abc{n}": [] for n in range(100_000)}}
    call = ModelCall("openai_chat", {"messages": [said]}, 1_000_000)
    assert tokens_of(StreamState(finish_reasons={0: "stop"}, usage={"completion_tokens": 1}), call).input is not None
