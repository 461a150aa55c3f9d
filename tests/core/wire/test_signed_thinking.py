"""Anthropic's signatures inside a text that clients send back, and the blocks that result from it."""

from typing import Any

from streamviz.core.wire.signed_thinking import is_marked, marked, signed_blocks

THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln+/=="}
HIDDEN = {"type": "redacted_thinking", "data": "ZGF0YQ=="}


def sealed(*blocks: Any) -> str:
    """All seals joined into one text, as in a reasoning item."""
    told: Any = marked({"thinking_blocks": list(blocks)})["thinking_blocks"]
    return "".join(block.get("signature") or block.get("data") for block in told)


def test_the_blocks_of_a_turn_come_back_as_they_were() -> None:
    assert signed_blocks("Let me see.", sealed(THOUGHT)) == [THOUGHT]
    assert signed_blocks("", sealed(HIDDEN)) == [HIDDEN]
    assert signed_blocks("Let me see.", sealed(HIDDEN, THOUGHT, HIDDEN)) == [HIDDEN, THOUGHT, HIDDEN]


def test_of_several_texts_in_one_nobody_knows_which_was_signed() -> None:
    assert signed_blocks("Let me see. And on.", sealed(THOUGHT, THOUGHT)) == []


def test_what_others_sealed_is_not_taken_for_it() -> None:
    for other in ("gAAAAABo", '[{"type":"thinking"}]', "", None, 5, "sv-thinking:"):
        assert not is_marked(other)
        assert signed_blocks("Let me see.", other) == []


def test_a_delta_without_blocks_stays_as_it_is() -> None:
    for delta in ({"content": "Hello"}, {"thinking_blocks": [{"type": "thinking", "thinking": "Let"}]}):
        assert marked(dict(delta)) == delta
