"""Full-text search: which words find what."""

import uuid
from datetime import timedelta

import pytest

from streamviz.records.queries import rows, search
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import stream_page
from streamviz.records.queries.rows import SearchTooBroad
from streamviz.records.queries.search import text_conditions
from tests.core.support import delta, sse
from tests.records.conftest import Query
from tests.records.history import NOW, day, store, story, tool_stream

TEXT = "Let me look into /srv/data/Über_uns/main.test.py before I call the naïve_parser."
ARGUMENTS = '{"path":"src/app/settings.py","text":"DEBUG = False"}'


@pytest.fixture
def wanted(query: Query) -> uuid.UUID:
    """The stream to be found, among others."""
    thinking = [sse(delta(reasoning_content="Perhaps a deadlock?")), *tool_stream(TEXT, "edit_file", ARGUMENTS)]
    plain = story(day(2), [sse(delta(content="Something else."))], session="Other", number=1)
    found = story(day(1), thinking, session="Why does the nightly build fail?", requested_model="acme/coder-large")
    return store(plain, found)[1]


def found(text: str) -> list[uuid.UUID]:
    return stream_page(Filters(text=text), None, 10).ids


FINDS = {
    "a word": "look",
    "in any case": "LOOK Parser",
    "words anywhere": "parser look",
    "the beginning of a word": "parse",
    "of each word": "look pars",
    "thinking": "deadlock",
    "a tool": "edit_file",
    "a part of a tool's name": "edit",
    "arguments": "settings",
    "a path": "src/app/settings.py",
    "the end of a path": "app/settings.py",
    "the beginning of a path": "/srv/data",
    "a file": "main.test.py",
    "a file's name without its ending": "main.test",
    "letters of all kinds": "über_uns naïve",
    "an id of upstream's": "call-1",
    "a session's label": "nightly build",
    "a model": "coder-large",
    "a part of a model's name": "acme",
    "marks between words": "(look) & 'into' | !",
}
MISSES = ["look debug", "ook", "look elsewhere", "src/settings.py", "data/srv", "settings_app", "zebra"]


WAYS = pytest.mark.parametrize("few", [{}, {"FEW": 0}, {"COMMON": 0}], ids=["rare", "in many", "common"])


@pytest.fixture
def way(monkeypatch: pytest.MonkeyPatch, few: dict[str, int]) -> None:
    """One of the strategies of a search, which depends on how many streams match."""
    for name, number in few.items():
        monkeypatch.setattr(search, name, number)


@pytest.mark.parametrize("text", FINDS.values(), ids=FINDS)
@WAYS
def test_a_search_finds_what_a_stream_says(wanted: uuid.UUID, way: None, text: str) -> None:
    assert found(text) == [wanted]


@pytest.mark.parametrize("text", MISSES)
@WAYS
def test_a_search_does_not_find_what_no_stream_says(wanted: uuid.UUID, way: None, text: str) -> None:
    assert found(text) == []


def test_what_is_in_streams_of_all_times_is_common_and_what_is_only_in_the_newest_is_not(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SOME", 10)
    monkeypatch.setattr(search, "COMMON", 3)
    assert not text_conditions("nothing").is_costly  # there is no stream yet
    store(*(story(day(n), tool_stream("usual words, old words"), number=n) for n in range(1, 11)))
    store(*(story(NOW, tool_stream("latest words"), number=n) for n in range(20, 60)))
    store(story(NOW, tool_stream("usual words"), number=15))
    told = {text: text_conditions(text).is_costly for text in ("usual", "old", "latest", "words")}
    assert told == {"usual": True, "old": False, "latest": False, "words": True}


def test_of_more_sessions_than_are_looked_up_none_is_missed(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FEW", 2)
    ids = store(*(story(day(n), session=f"nightly build {n}", number=n) for n in range(1, 6)))
    assert sorted(found("nightly")) == sorted(ids)


def test_a_stream_with_many_blocks_that_match_does_not_hide_others(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW", 2)
    thoughts = [sse(delta(reasoning_content="zebra")), sse(delta(content="zebra")), sse(delta(refusal="zebra"))]
    ids = store(*(story(day(n), [*thoughts, *tool_stream("zebra")], number=n) for n in range(1, 3)))
    assert sorted(found("zebra")) == sorted(ids)


def test_an_id_is_that_of_a_stream_or_of_its_session(wanted: uuid.UUID, query: Query) -> None:
    assert found(f" {wanted} ") == [wanted]
    [(session,)] = query("SELECT session_id FROM records_stream WHERE id = %s", wanted)
    assert found(str(session).upper()) == [wanted]
    assert found(str(uuid.uuid4())) == []


def test_the_short_id_that_pages_show_is_that_of_a_stream_or_of_its_session(wanted: uuid.UUID, query: Query) -> None:
    store(story(day(1) + timedelta(milliseconds=1), tool_stream("a little later"), number=2))
    assert found(f" {str(wanted)[:13]} ") == [wanted]
    [(session,)] = query("SELECT session_id FROM records_stream WHERE id = %s", wanted)
    assert found(str(session)[:13].upper()) == [wanted]


def test_what_looks_like_a_short_id_but_is_none_is_a_text(query: Query) -> None:
    [stream_id] = store(story(day(1), tool_stream("Call 55501234-0199, or deadbeef-cafe.")))
    assert found("55501234-0199") == found("deadbeef-cafe") == [stream_id]
    assert found("deadbeef-cafd") == []


@pytest.mark.parametrize("text", ["", "  ", "!!! ???", "\x00", "' OR 1=1; --%s %(text)s"])
def test_what_has_no_words_asks_for_nothing_and_nothing_breaks(wanted: uuid.UUID, text: str) -> None:
    assert len(found(text)) in (0, 2)


def test_what_takes_too_long_is_given_up(wanted: uuid.UUID, query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SECONDS", 0.2)
    query("CREATE OR REPLACE VIEW slow AS SELECT pg_sleep(5)::text")
    monkeypatch.setattr(search, "_MATCHING_STREAMS", "SELECT * FROM slow WHERE %(text)s <> %(most)s::text")
    with pytest.raises(SearchTooBroad):
        found("look")
    query("DROP VIEW slow")


def test_of_a_very_long_block_the_beginning_is_found(query: Query) -> None:
    words = " ".join(f"word{n}" for n in range(60_000))
    [stream_id] = store(story(day(1), [sse(delta(content=words))]))
    assert found("word100") == [stream_id]
    assert found("word59999") == []
