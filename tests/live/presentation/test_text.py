"""Readable text and figures."""

import sys

import pytest

from streamviz.live.presentation import durations, figures, text
from streamviz.live.presentation.rows import last_of


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain text, – é 漢 👩‍💻", "plain text, – é 漢 👩‍💻"),
        ("line\nline\ttab\r\n", "line\nline\ttab\r\n"),
        ("nul\x00 bell\x07 escape\x1b[31m", "nul� bell␇ escape␛[31m"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("half \ud83d a pair", "half ⟨U+D83D⟩ a pair"),
        ("\x7f\x85", "⟨U+007F⟩⟨U+0085⟩"),
        ("ls\u200b \u2060-l\ufeff", "ls⟨U+200B⟩ ⟨U+2060⟩-l⟨U+FEFF⟩"),
        ("\u206a\u034f\ufff9\U0001d173", "⟨U+206A⟩⟨U+034F⟩⟨U+FFF9⟩⟨U+1D173⟩"),
        ("hi\U000e0072\U000e006d\U000e0100", "hi⟨U+E0072⟩⟨U+E006D⟩⟨U+E0100⟩"),
        ("می\u200cخواهم \u200f☺\ufe0f", "می\u200cخواهم \u200f☺\ufe0f"),
    ],
)
def test_it_names_characters_that_cannot_be_read(given: str, shown: str) -> None:
    assert text.printable(given) == shown
    assert text.printable(given).encode()


@pytest.mark.parametrize(
    ("microseconds", "age", "lasted", "exact"),
    [
        (None, "–", "–", "–"),
        (0, "0.0 s", "< 1 ms", "< 1 ms"),
        (38_400, "0.0 s", "38 ms", "38 ms"),
        (50_001, "0.1 s", "0.1 s", "50 ms"),
        (620_000, "0.6 s", "0.6 s", "0.62 s"),
        (14_200_000, "14.2 s", "14.2 s", "14.2 s"),
        (59_960_000, "1 m 0 s", "1 m 0 s", "1 m 0 s"),
        (72_000_000, "1 m 12 s", "1 m 12 s", "1 m 12 s"),
        (7_500_000_000, "2 h 5 m", "2 h 5 m", "2 h 5 m"),
    ],
)
def test_it_tells_times_as_precisely_as_needed(microseconds: int | None, age: str, lasted: str, exact: str) -> None:
    assert durations.age(microseconds) == age
    assert durations.lasted(microseconds) == lasted
    assert durations.exact(microseconds) == exact


def test_it_never_shows_unknown_as_nothing() -> None:
    assert figures.count(None) == figures.money(None) == "–"
    assert figures.count(0) == "0"


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0, "$0.0000"),
        (0.0004, "$0.0004"),
        (0.00004, "< $0.0001"),
        (0.000001, "< $0.0001"),
        (0.999, "$0.9990"),
        (12_345.678, "$12,345.68"),
    ],
)
def test_a_small_cost_is_not_nothing_and_a_large_one_has_its_thousands_apart(dollars: float, words: str) -> None:
    assert figures.money(dollars) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (6_300, "6.3 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (999_950_000, "1.0 GB"),
        (41_500_000_000, "41.5 GB"),
        (2_000_000_000_000_000, "2000.0 TB"),
    ],
)
def test_a_size_has_the_unit_that_fits_it(size: int | None, words: str) -> None:
    assert figures.byte_size(size) == words


def test_it_cuts_long_text_to_one_line() -> None:
    assert text.one_line("a\n\n b   c", 20) == "a b c"
    assert text.last_line("x" * 500 + " the\nend", 7) == "the end"
    assert (figures.plural(1, "chunk"), figures.plural(2, "chunk")) == ("1 chunk", "2 chunks")


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "now"), (0.9, "now"), (59.9, "59 s ago"), (986, "16 min ago"), (90_000, "1 d ago")]
)
def test_a_row_says_when_its_stream_ended_as_the_script_goes_on_saying_it(seconds: float, words: str) -> None:
    now = 1_000_000_000_000
    assert last_of(0, now - int(seconds * 1_000_000), now).text == words


def test_to_name_very_many_characters_is_no_call_for_each() -> None:
    calls: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        shown = text.printable("\x80\x01" * 50_000)
    finally:
        sys.setprofile(before)
    assert shown == "⟨U+0080⟩␁" * 50_000
    assert len(calls) < 10
