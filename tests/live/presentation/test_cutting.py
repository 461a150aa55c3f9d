"""How much of long texts a page shows, and how little of them is examined to decide that."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.live.presentation import cutting
from streamviz.live.presentation.cutting import cut, markup_bytes, share
from streamviz.live.presentation.text import printable

ROOM = 100_000
# Characters of one byte in a page, of twelve, and escaped ones.
CHARACTERS = ("x", "漢", "<", "\x80")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were measured."""
    found: list[str] = []

    def note(text: str) -> int:
        found.append(text)
        return markup_bytes(text)

    monkeypatch.setattr(cutting, "markup_bytes", note)
    return found


def characters(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


@pytest.mark.parametrize("character", CHARACTERS)
def test_no_more_of_long_texts_is_measured_than_there_is_room_for(measured: list[str], character: str) -> None:
    assert share([character * 95_000] * 12, ROOM) == ROOM // 12
    assert characters(measured) <= ROOM


@pytest.mark.parametrize("character", CHARACTERS)
def test_of_texts_that_may_be_whole_no_more_is_measured_than_there_is_room_for(
    measured: list[str], character: str
) -> None:
    share([character * 8_000] * 12, ROOM)
    assert characters(measured) <= ROOM


@pytest.mark.parametrize("character", CHARACTERS)
def test_little_more_of_a_text_is_measured_than_is_shown(measured: list[str], character: str) -> None:
    shown = cut(character * 5_000_000, 1_000_000)
    assert markup_bytes(shown.beginning) + markup_bytes(shown.end) > 990_000
    assert characters(measured) < len(character * 5_000_000) - shown.left_out + 200_000


TEXTS = st.lists(st.text(st.sampled_from(CHARACTERS), max_size=200).map(lambda text: text * 40), max_size=8)


@given(TEXTS, st.integers(5_000, 60_000))
def test_what_shares_a_page_fits_and_no_room_is_left(texts: list[str], room: int) -> None:
    each = share(texts, room)
    sizes = [min(markup_bytes(text), each) for text in texts]
    assert sum(sizes) <= room
    if any(markup_bytes(text) > each for text in texts):
        assert sum(sizes) > room - len(texts)


@given(st.text(st.sampled_from([*CHARACTERS, "a", "\n"]), max_size=300).map(lambda text: text * 10), st.integers(400))
def test_a_text_is_whole_where_there_is_room_and_else_without_its_middle(text: str, room: int) -> None:
    shown = cut(text, room)
    assert markup_bytes(shown.beginning) + markup_bytes(shown.end) <= room
    if markup_bytes(text) <= room:
        assert shown == (printable(text), "", 0, len(text))
    else:
        assert printable(text).startswith(shown.beginning)
        assert printable(text).endswith(shown.end)
        assert (shown.left_out > 0, shown.length) == (True, len(text))
