"""All recorded streams composed again, in their own format and in the others, as the official SDKs read them."""

import pytest

from tests.core.wire import legal
from tests.core.wire.official import Told, compose, payloads, read_back, take_in, told_of
from tests.recordings import RECORDED_FORMATS, telling

CLIENT_FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
# Chat to chat is left to the chat composer's tests, which compare all choices.
PAIRS = [
    (source, target)
    for source in RECORDED_FORMATS
    for target in CLIENT_FORMATS
    if not source == target == "openai_chat"
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_composed_streams_are_legal_and_read_back_by_the_sdk(source: str, target: str) -> None:
    for path in telling(source):
        aggregator, events = take_in(source, path.read_bytes())
        data = compose(aggregator, events, source, target)
        want = told_of(aggregator.state, is_one_text=target != "openai_chat", is_own=source == target)
        assert_same(want, read_back(target, data), path.stem, is_own=source == target)
        legal.check(target, payloads(data))


def assert_same(want: Told, got: Told, name: str, *, is_own: bool) -> None:
    assert got.content == want.content, name
    assert got.thinking == want.thinking, name
    # If upstream gives a call no id, one is made up: clients need it to return results.
    assert [call[1:] for call in got.calls] == [call[1:] for call in want.calls], name
    for (got_id, *_), (want_id, *_) in zip(got.calls, want.calls, strict=True):
        assert got_id == (want_id or got_id), name
        assert got_id or is_own, name
    if is_own:
        assert got.others == want.others, name
        assert got.finish_reason == want.finish_reason or want.finish_reason is None, name
