"""The Live page's filter language."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamviz.live.filter_terms import Facts
from streamviz.live.filters import EVERYTHING, FIELDS, MOST_CHARACTERS, parse_filter, shortcuts_of, unknown_fields

QUICK = {"All": "", "Held": "state:held", "Denied": "verdict:deny verdict:halt"}
FACTS = Facts(
    model=("sim/gpt-4.1", "gpt-4.1-2026"),
    key=("ci nightly",),
    policy=("shell-guard",),
    verdict=("would deny", "allow"),
    tool=("run_shell", "read[file]?"),
    state=("held", "running"),
    text="nightly-triage sim/gpt-4.1 ci nightly",
)


@pytest.mark.parametrize(
    ("written", "matches"),
    [
        ("", True),
        ("model:gpt", True),
        ("model:gpt*", True),
        ("model:*4.1", True),
        ("model:4.1*", False),
        ("MODEL:gpt", False),
        ("model:GPT", True),
        ("-model:gpt", False),
        ("-model:embed*", True),
        ('key:"ci nightly"', True),
        ('key:"ci nigh', True),
        ("verdict:deny", False),
        ('verdict:"would deny"', True),
        ("verdict:deny verdict:allow", True),
        ("verdict:allow state:stalled", False),
        ("state:stalled state:held", True),
        ("state:hel", False),
        ("tool:run_*", True),
        ("tool:read[file]?", True),
        ("tool:read[file]*", True),
        ("tool:r?n_shell*", False),
        ("triage nightly", True),
        ("triage missing", False),
        ("-missing", True),
        ("-triage", False),
        ("nobody:knows", False),
        ("http://triage", False),
    ],
)
def test_it_matches_what_was_asked_for(written: str, matches: bool) -> None:
    assert parse_filter(written).matches(FACTS) is matches


def test_conditions_can_be_taken_away() -> None:
    wanted = parse_filter('model:gpt -key:ci "two words"')
    assert [term.source for term in wanted.terms] == ["model:gpt", "-key:ci", '"two words"']
    assert wanted.without(wanted.terms[1]).text == 'model:gpt "two words"'
    assert parse_filter("") == EVERYTHING


@given(st.text(max_size=400))
@example('"\x85"')
def test_anything_can_be_written_and_reads_back_the_same(written: str) -> None:
    wanted = parse_filter(written)
    wanted.matches(FACTS)
    assert len(wanted.terms) <= 20
    assert len(wanted.text) <= MOST_CHARACTERS * 2
    assert {term.field for term in wanted.terms} <= {"", *FIELDS}
    assert (
        parse_filter(wanted.text[:MOST_CHARACTERS]).terms[:1] == wanted.terms[:1] or len(wanted.text) > MOST_CHARACTERS
    )


@pytest.mark.parametrize("written", ["nonsense:foo", "-nonsense:foo", 'nonsense:"foo bar"', "a nonsense:foo model:b"])
def test_a_filter_that_there_is_not_is_named_with_those_there_are(written: str) -> None:
    [said] = unknown_fields(parse_filter(written))
    assert "There is no filter nonsense:, only model: key: " in said


@pytest.mark.parametrize("written", ["model:", "-model:", "model: gpt", "key:ci model:"])
def test_a_filter_without_a_value_is_said_to_lack_one(written: str) -> None:
    assert unknown_fields(parse_filter(written)) == ["Add a value after model:, or quote it to search for it as text."]


@pytest.mark.parametrize("written", ['"nonsense:foo"', "http://localhost/", "model:a:b", "Error:", ":x", "word"])
def test_what_is_text_is_no_filter(written: str) -> None:
    once = parse_filter(written)
    assert unknown_fields(once) == []
    assert parse_filter(once.text) == once


@pytest.mark.parametrize(
    ("written", "held", "denied", "chosen"),
    [
        ("", "state:held", "verdict:deny verdict:halt", ["All"]),
        ("model:gpt", "model:gpt state:held", "model:gpt verdict:deny verdict:halt", []),
        ("state:held model:gpt", "model:gpt state:held", "model:gpt verdict:deny verdict:halt", ["Held"]),
        ("verdict:deny -key:ci", "verdict:deny -key:ci state:held", "-key:ci verdict:deny verdict:halt", []),
        ("state:running x", "x state:held", "state:running x verdict:deny verdict:halt", []),
        ("state:running state:held", "state:held", "state:running state:held verdict:deny verdict:halt", []),
        ("-state:stalled", "-state:stalled state:held", "-state:stalled verdict:deny verdict:halt", []),
        ("verdict:halt x verdict:deny", "x state:held", "x verdict:deny verdict:halt", ["Denied"]),
    ],
)
def test_a_shortcut_takes_the_place_of_another_and_keeps_the_rest(
    written: str, held: str, denied: str, chosen: list[str]
) -> None:
    found = shortcuts_of(QUICK, parse_filter(written))
    assert [each.filter.text for each in found] == ["", held, denied]
    assert [each.name for each in found if each.is_chosen] == chosen


@pytest.mark.parametrize(
    "written", ["x" * (MOST_CHARACTERS - 12), " ".join(f"w{number}" for number in range(19))], ids=["long", "many"]
)
def test_a_shortcut_for_which_there_is_no_room_is_not_offered(written: str) -> None:
    wanted = parse_filter(written)
    found = shortcuts_of(QUICK, wanted)
    assert [(each.name, each.filter.text) for each in found] == [("All", ""), ("Held", f"{wanted.text} state:held")]
    assert shortcuts_of(QUICK, parse_filter(f"{written} state:held"))[1].is_chosen
