"""What is new in a request compared to the one that it continues."""

import json
from typing import Any

import pytest

from streamviz.core.request_outline import NOTICE, New, RequestOutline, new_in, outline_of
from streamviz.core.wire import WIRE_FORMATS
from tests.core.test_request_parts import SAID


def outline(name: str, turns: list[Any], **more: Any) -> RequestOutline:
    body = json.dumps({WIRE_FORMATS[name].turns: turns, **more}).encode()
    return outline_of(body, WIRE_FORMATS[name])


@pytest.mark.parametrize("name", SAID)
def test_what_is_new_stands_behind_the_answer(name: str) -> None:
    said = SAID[name]
    before, after = outline(name, said[:1]), outline(name, said)
    answered = len(said) - 2
    assert new_in(before, None) == New(0)
    assert new_in(after, before) == New(1, answered)


def test_words_over_a_conversation_are_not_new() -> None:
    said = [{"role": "system", "content": "Be brief."}, *SAID["openai_chat"]]
    assert new_in(outline("openai_chat", said[:2]), None) == New(1)
    assert new_in(outline("openai_chat", said), outline("openai_chat", said[:2])) == New(2, 1)
    changed = [{"role": "system", "content": "Be kind."}, *said[1:]]
    assert new_in(outline("openai_chat", changed), outline("openai_chat", said[:2])).first == 1


def test_marks_for_a_cache_and_two_spellings_of_a_text_make_nothing_new() -> None:
    marked = {"type": "text", "text": "Look", "cache_control": {"type": "ephemeral"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    before = outline(
        "anthropic_messages", [{"role": "user", "content": [marked]}, {"role": "user", "content": [result]}]
    )
    parts = [{**result, "content": [{"type": "text", "text": "x"}], "cache_control": {"type": "ephemeral"}}]
    after = outline("anthropic_messages", [{"role": "user", "content": "Look"}, {"role": "user", "content": parts}])
    assert new_in(after, before) == New(2)


@pytest.mark.parametrize("more", [1, 100], ids=["one", "many"])
def test_what_we_added_to_a_turn_is_not_missed_in_the_next_request(more: int) -> None:
    asked, thanks = ({"role": "user", "content": text} for text in ("Tidy up", "Thanks"))
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]}
    answer = {"role": "assistant", "content": "Done."}
    told = {"type": "text", "text": f"{NOTICE}rm was not carried out] No."}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    sent, had = ({"role": "user", "content": [result, *added]} for added in ([told] * more, []))
    before = outline("anthropic_messages", [asked, called, sent])
    assert new_in(outline("anthropic_messages", [asked, called, had, answer, thanks]), before) == New(3, 1)
    # A client that adds such a text is shown with it.
    again = outline("anthropic_messages", [asked, called, had])
    assert new_in(outline("anthropic_messages", [asked, called, sent, answer, thanks]), again) == New(2, 0, 1)


def test_another_history_says_how_much_of_the_old_is_gone() -> None:
    said = SAID["anthropic_messages"]
    edited = [said[0], said[1], {"role": "user", "content": "No, stop."}]
    assert new_in(outline("anthropic_messages", edited), outline("anthropic_messages", said)) == New(2, 0, 1)
    compacted = [{"role": "user", "content": "A summary."}]
    assert new_in(outline("anthropic_messages", compacted), outline("anthropic_messages", said)) == New(0, 0, 3)


def test_a_request_that_names_what_it_goes_on_from_is_all_new() -> None:
    said = SAID["openai_responses"]
    after = outline("openai_responses", said[-1:], previous_response_id="resp_1")
    assert new_in(after, outline("openai_responses", said[:1])) == New(0)
    again = outline("openai_responses", said[-1:], previous_response_id="resp_2")
    assert new_in(outline("openai_responses", said[:1], previous_response_id="resp_3"), again) == New(0)


@pytest.mark.parametrize("body", [b"", b"{", b'{"messages":[3,null,"x",[]]}', b'{"messages":"x"}'])
def test_odd_requests_can_be_compared(body: bytes) -> None:
    odd, plain = outline_of(body, WIRE_FORMATS["openai_chat"]), outline("openai_chat", SAID["openai_chat"])
    for one, other in ((odd, plain), (plain, odd), (odd, odd)):
        assert new_in(one, other).first <= len(one.turns)
