"""Splitting text."""

from random import Random

from streamviz.simulator.prose import PASSAGES, REFUSALS, THOUGHTS, content_tokens, tokens


def test_tokens_join_to_the_same_text() -> None:
    for text in (*PASSAGES, *THOUGHTS, *REFUSALS, "  odd\n\n\tspace \x00 {} ü 👩 "):
        assert "".join(tokens(text)) == text


def test_tokens_are_about_four_characters() -> None:
    text = "".join(PASSAGES)
    assert 3 < len(text) / len(tokens(text)) < 5.5


def test_content_has_as_many_pieces_as_asked() -> None:
    assert len(content_tokens(Random(1), 5000)) == 5000
    assert "".join(content_tokens(Random(1), None)) in PASSAGES
