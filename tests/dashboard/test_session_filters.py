"""The Sessions page's filter: what can be typed, and which sessions it finds."""

import re
from datetime import timedelta

import pytest

from streamviz.dashboard.session_filters import FIELDS, read
from streamviz.live.filters import parse_filter
from streamviz.records.ids import days_from, uuid7
from streamviz.records.models import ApiKey, Policy, Session
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import session_page
from tests.dashboard.conftest import NOON, Cast, recorded


def asked(text: str) -> tuple[Filters, list[str]]:
    found = read(parse_filter(text, FIELDS))
    return found.filters, found.problems


@pytest.fixture
def history(guard: Policy) -> None:
    """Streams that differ in one thing each, each in a session named after it."""
    key, _ = ApiKey.objects.issue("CI nightly")
    recorded("plain", provider="openai", finish_reason="stop")
    recorded("mini", requested_model="coder-large-mini")
    recorded("keyed", key=key)
    recorded("running", outcome="", ended_at=None)
    recorded("left", outcome="client_disconnected")
    recorded("halted", outcome="halted", finish_reason="length")
    recorded("dear", cost=2.5)
    recorded("long", ended_at=NOON + timedelta(minutes=5))
    recorded("star")
    Session.objects.filter(label="star").update(is_starred=True)
    for name, mode in (("denied", "enforce"), ("would", "shadow")):
        recorded(name).verdicts.create(
            number=0, policy_version=guard.versions.get(), mode=mode, decision="deny", at=NOON, took_us=5
        )
    recorded("tool").blocks.create(
        ordinal=0, kind="tool_call", name="run_shell", first_seq=0, last_seq=0, started_at=NOON
    )


EVERYTHING = {
    *("plain", "mini", "keyed", "running", "left", "halted", "dear", "long", "star", "denied", "would", "tool"),
}
FINDS = {
    "model:coder-large": EVERYTHING - {"mini"},
    "model:CODER*": EVERYTHING,
    "model:mini": {"mini"},
    "-model:mini": EVERYTHING - {"mini"},
    "model:none": set(),
    "provider:openai": {"plain"},
    'key:"ci nightly"': {"keyed"},
    "key:night*": set(),
    "key:*night*": {"keyed"},
    "key:–": EVERYTHING - {"keyed"},
    "-key:nightly": EVERYTHING - {"keyed"},
    "session:plain session:mini": {"plain", "mini"},
    "policy:guard": {"denied", "would"},
    "verdict:deny": {"denied"},
    'verdict:"would deny"': {"would"},
    "verdict:would_deny verdict:deny": {"denied", "would"},
    "intervened:yes": {"denied"},
    "intervened:no": EVERYTHING - {"denied"},
    "tool:shell": {"tool"},
    "-tool:run_shell": EVERYTHING - {"tool"},
    "state:running": {"running"},
    "state:finished": EVERYTHING - {"running"},
    "outcome:client_disconnected": {"left"},
    'outcome:"client left" outcome:halted': {"left", "halted"},
    "finish_reason:length": {"halted"},
    "starred:yes": {"star"},
    "-starred:yes": EVERYTHING - {"star"},
    "cost:2.5": {"dear"},
    "cost:>$3": set(),
    "duration:5m": {"long"},
    "-duration:3": EVERYTHING - {"long"},
    "outcome:halted finish_reason:stop": set(),
    "tool:run_shell run_shell": {"tool"},
    "tool:run_shell elsewhere": set(),
}


@pytest.mark.parametrize(("text", "expected"), FINDS.items(), ids=FINDS)
def test_a_filter_finds_its_sessions(history: None, text: str, expected: set[str]) -> None:
    filters, problems = asked(text)
    names = dict(Session.objects.values_list("pk", "label"))
    assert {names[each] for each in session_page(filters, None, 50).ids} == expected
    assert problems == []


def test_a_session_is_found_by_its_id(history: None) -> None:
    found = [recorded("alike").session_id for _ in range(2)]
    filters, _ = asked(f"session:{found[0]} session:none")
    assert session_page(filters, None, 50).ids == [found[0]]


def test_a_session_is_found_by_the_short_id_that_pages_show(history: None) -> None:
    later = days_from(uuid7(), 1)  # than those of the history, some of which may have been made in one millisecond
    wanted = recorded(session=Session.objects.create(pk=later, started_at=NOON, last_at=NOON))
    filters, _ = asked(f"session:{str(later)[:13]} session:none")
    assert session_page(filters, None, 50).ids == [wanted.session_id]


@pytest.mark.parametrize(
    "text",
    ["cost:x", "cost:<1", "duration:1y", "intervened:perhaps", "state:held", "verdict:maybe", "-word"],
)
def test_what_cannot_be_asked_is_said_and_asks_nothing(db: None, text: str) -> None:
    filters, problems = asked(text)
    assert filters == Filters()
    assert [problem.startswith(f"{text} ") for problem in problems] == [True]


@pytest.mark.parametrize("text", ["🔥", "&&", "->", "%", '"! ?" _'])
def test_that_a_text_has_nothing_to_search_for_is_said(db: None, text: str) -> None:
    filters, problems = asked(text)
    assert filters == Filters()
    assert problems == [f"{text} cannot be searched for, only letters and digits can"]


@pytest.mark.parametrize("text", ["", "fish && chips", "日本", "Ünï => 7", "state:running"])
def test_a_text_with_letters_or_digits_is_searched_for(db: None, text: str) -> None:
    assert asked(text)[1] == []


def test_what_is_no_condition_is_text_and_what_is_quoted_a_phrase(db: None) -> None:
    assert asked('alpha model:"a b" "two words" http://x')[0].text == "alpha two-words http://x"


def test_of_several_amounts_the_least_is_asked_for(db: None) -> None:
    filters, _ = asked("cost:2 cost:0.5 duration:500ms duration:1h")
    assert (filters.least_cost, filters.least_seconds) == (0.5, 0.5)


def test_every_example_of_the_page_is_understood(db: None) -> None:
    for example in FIELDS.values():
        assert asked(example.split(" (")[0].split(", ")[0])[1] == []


@pytest.mark.parametrize("path", ["/sessions/", "/errors/", "/"])
def test_common_filters_are_added_to_what_is_there(cast: Cast, path: str) -> None:
    shown = cast["bob"].get(f"{path}?q=model:mini").content.decode()
    common = shown.split('aria-label="Common filters"')[1].split("</nav>")[0]
    assert common.count("href=") > 3
    assert len(re.findall(r'href="[^"]*q=model(?::|%3A)mini(?:%20|\+)', common)) == common.count("href=") - 1
