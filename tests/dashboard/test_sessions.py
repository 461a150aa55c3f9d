"""The Sessions page: newest first, one page at a time, searched, filtered and limited to a time span."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from streamviz.dashboard import queries
from streamviz.records.models import Policy, Session, Verdict
from streamviz.records.queries import rows, samples, search, statistics
from tests.dashboard.conftest import NOON, Cast, hold, recorded


def labels(cast: Cast, path: str = "/sessions/?range=all") -> list[str]:
    """The labels on a page and on the pages after it."""
    shown = cast["bob"].get(path).content.decode()
    found = re.findall(r'class="row-link"[^>]*><bdi>(.*?)</bdi>', shown)
    following = re.search(r'rel="next" href="([^"]+)"', shown)
    return [*found, *(labels(cast, "/sessions/" + following[1].replace("&amp;", "&")) if following else [])]


def test_each_session_is_on_one_page_the_newest_first(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SESSIONS_A_PAGE", 2)
    first = recorded("one", minutes=1).session
    for n, name in enumerate(["two", "three", "four"], 2):
        recorded(name, minutes=n)
    recorded(minutes=9, session=first)
    assert labels(cast) == ["one", "four", "three", "two"]


def test_a_search_finds_labels_models_and_ids(cast: Cast) -> None:
    recorded("nightly triage")
    wanted = recorded("something else", requested_model="acme/coder-small")
    assert labels(cast, "/sessions/?range=all&q=night") == ["nightly triage"]
    assert labels(cast, "/sessions/?range=all&q=coder-small") == ["something else"]
    assert labels(cast, f"/sessions/?q={wanted.pk}") == ["something else"]
    assert labels(cast, f"/sessions/?q={wanted.session_id}") == ["something else"]
    assert labels(cast, f"/sessions/?q={str(wanted.pk)[:13]}") == ["something else"], "whenever it was"
    assert labels(cast, "/sessions/?range=all&q=nowhere") == []
    shown = cast["bob"].get("/sessions/?range=all&q=nowhere").content.decode()
    assert "Nothing matches" in shown
    assert 'href="/sessions/?range=all">Clear filters' in shown


def test_a_session_is_called_by_what_it_is_about_with_its_clients_id_beside_it(cast: Cast) -> None:
    session = recorded("Mend the build").session
    Session.objects.update(name="<b>ses_1</b>")
    for path in ("/sessions/?range=all", f"/sessions/{session.pk}/"):
        shown = cast["bob"].get(path).content.decode()
        assert "<bdi>Mend the build</bdi>" in shown
        assert "<bdi>&lt;b&gt;ses_1&lt;/b&gt;</bdi>" in shown


def test_a_row_says_on_which_day_and_at_what_time_the_last_stream_of_its_session_was_requested(cast: Cast) -> None:
    last = recorded(minutes=9, session=recorded("yesterday's").session).requested_at
    shown = cast["bob"].get("/sessions/?range=all").content.decode()
    assert f">{last:%d %b %H:%M:%S}</time>" in shown


def test_a_session_says_when_it_started_in_the_form_that_its_streams_do(cast: Cast) -> None:
    stream = recorded()
    started = re.compile(r'<time[^>]* data-at="(\d+)" data-shows="(\w+)" title="[^"]*">([^<]*?)(?: UTC)?</time>')
    shown = [
        started.findall(cast["bob"].get(path).content.decode())[0]
        for path in (f"/sessions/{stream.session_id}/", f"/streams/{stream.pk}/", "/sessions/histogram/?range=all")
    ]
    assert shown[:2] == [(f"{NOON.timestamp() * 1000:.0f}", "moment", "21 Sep 12:00:00")] * 2
    assert shown[2][1] == "moment"


@pytest.mark.parametrize("path", ["/", "/sessions/", "/errors/"])
def test_browsers_do_not_restore_the_words_in_a_search_field(cast: Cast, path: str) -> None:
    recorded()
    [field] = re.findall(r'<input type="search"[^>]*>', cast["bob"].get(path).content.decode())
    assert 'autocomplete="off"' in field


def test_several_errors_are_said_as_such(cast: Cast) -> None:
    session = recorded(outcome="upstream_error").session
    recorded(session=session, outcome="upstream_error")
    recorded("alone", outcome="upstream_error")
    shown = cast["bob"].get("/sessions/?range=all").content.decode()
    said = re.findall(r">\s*([^<>]*upstream error[^<>]*)</span>", shown)
    assert sorted(" ".join(words.split()) for words in said) == ["2 upstream errors", "upstream error"]
    assert "3 streams: 3 upstream errors" in brought(cast, "/sessions/?range=all")


def test_streams_and_verdicts_are_counted_in_thousands(cast: Cast, guard: Policy) -> None:
    stream = recorded()
    version = guard.versions.get()
    Verdict.objects.bulk_create(
        Verdict(stream=stream, number=number, ordinal=0, policy_version=version, mode="enforce", decision="deny",
                took_us=1, at=NOON)
        for number in range(1_000)
    )  # fmt: skip
    for path in ("/sessions/?range=all", f"/sessions/{stream.session_id}/"):
        assert "1,000 deny" in " ".join(cast["bob"].get(path).content.decode().split())


def test_the_names_of_models_are_escaped_once(cast: Cast) -> None:
    recorded("one", requested_model="sim/big?speed=5&chunks=<b>")
    shown = cast["bob"].get("/sessions/?range=all").content.decode()
    assert "<bdi>sim/big?speed=5&amp;chunks=&lt;b&gt;</bdi>" in shown


@pytest.mark.parametrize("path", ["/sessions/?range=all", "/sessions/?range=all&q=coder&q=outcome:completed"])
def test_it_takes_as_many_queries_for_many_sessions_as_for_one(cast: Cast, path: str) -> None:
    recorded("one")
    numbers = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as made:
            numbers.append((len(labels(cast, path)), len(made)))
        for n in range(10):
            recorded(f"more {n}", minutes=n + 1)
    (_, few), (_, many) = numbers
    assert [found for found, _ in numbers] == [1, 11]
    assert few == many


def test_it_says_when_a_search_took_too_long(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("one")
    monkeypatch.setattr(rows, "SECONDS", 0.1)
    slow = "SELECT id FROM records_stream, pg_sleep(5) WHERE %(text)s <> %(most)s::text"
    monkeypatch.setattr(search, "_MATCHING_STREAMS", slow)
    assert "This search took too long." in cast["bob"].get("/sessions/?q=one").content.decode()


HOUR = timedelta(hours=1)
HOSTILE = """"><script>alert(1)</script>' hx-get=/"""


def test_at_first_it_shows_the_last_day_and_a_link_shows_all(cast: Cast) -> None:
    recorded("old")
    assert labels(cast, "/sessions/") == []
    shown = cast["bob"].get("/sessions/").content.decode()
    assert 'Nothing in the last 24 hours</h2><p class="muted">There are older streams.' in shown
    assert 'href="/sessions/?range=all">Show all' in shown
    recorded("new", requested_at=timezone.now() - HOUR)
    assert labels(cast, "/sessions/") == ["new"]
    assert labels(cast, "/sessions/?range=all") == ["new", "old"]
    assert labels(cast, "/sessions/?range=1e9d&since=yesterday&until=\u0663") == ["new"]


def test_nothing_recorded_says_how_to_begin(cast: Cast) -> None:
    assert "Nothing recorded yet." in cast["bob"].get("/sessions/?q=model:x&range=all").content.decode()


def test_each_page_keeps_the_filter_and_the_time(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SESSIONS_A_PAGE", 1)
    for n, model in enumerate(["a", "b", "a", "a"]):
        recorded(f"{model} {n}", minutes=n, requested_model=model)
    recorded("too new a", minutes=90, requested_model="a")
    path = f"/sessions/?{urlencode({'q': 'model:a', **_times(0, 60)})}"
    assert labels(cast, path) == ["a 3", "a 2", "a 0"]


def _times(since: int, until: int) -> dict[str, str]:
    """URL parameters for a time span, in minutes after noon."""
    minutes = {"since": since, "until": until}
    return {name: (NOON + timedelta(minutes=n)).strftime("%Y-%m-%dT%H:%M:%SZ") for name, n in minutes.items()}


def brought(cast: Cast, path: str) -> str:
    """The histogram, as the page loads it."""
    shown = cast["bob"].get(path).content.decode()
    [url] = re.findall(r'hx-get="([^"]+)" hx-trigger="load"', shown)
    return cast["bob"].get(unescape(url), headers={"HX-Request": "true"}).content.decode()


def test_a_bar_leads_to_its_streams(cast: Cast) -> None:
    recorded("first", requested_model="a")
    recorded("failed", minutes=30, requested_model="a", outcome="upstream_error")
    recorded("other", minutes=30, requested_model="b")
    shown = brought(cast, f"/sessions/?{urlencode({'q': 'model:a', **_times(0, 60)})}")
    assert shown.startswith('<section class="histogram"')
    assert "hx-get" not in shown
    assert "<b>2 streams</b>" in shown
    bars = re.findall(r'<a href="([^"]+)" tabindex="-1"><title[^>]*>([^<]+)</title>', shown)
    assert [words.split(": ", 1)[1] for _, words in bars] == ["1 stream: 1 completed", "1 stream: 1 upstream error"]
    assert [labels(cast, unescape(href)) for href, _ in bars] == [["first"], ["failed"]]
    in_table = re.findall(r'<td><a class="link" href="([^"]+)"><time [^>]+>21 Sep', shown)
    assert in_table == [href for href, _ in bars]


def test_tokens_that_nobody_told_are_one_dash(cast: Cast) -> None:
    recorded(outcome="upstream_error")
    page = cast["bob"].get("/sessions/?range=all").content.decode()
    cells = re.findall(r'data-label="tokens">(.*?)</td>', page)
    assert cells == ["–"]


def test_an_estimate_says_that_it_is_one(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 0)
    monkeypatch.setattr(statistics, "ENOUGH", 1)
    recorded("sampled", id=UUID(int=7 << 76), cost=1)
    recorded("not sampled", id=UUID(int=(7 << 76) + 255), cost=1)
    shown = brought(cast, "/sessions/?range=all&q=cost:0.5")
    assert "<b>About 65,536 streams</b>" in shown
    assert "estimated from one in 65,536" in shown
    assert "about 65,536 streams: 65,536 completed</title>" in shown
    assert "<b>2 streams</b>" in brought(cast, "/sessions/?range=all")


def test_it_says_when_counting_took_too_long(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("one")
    monkeypatch.setattr(rows, "SECONDS", 0.1)
    monkeypatch.setattr(statistics, "_COUNTS", "SELECT pg_sleep(5)")
    shown = brought(cast, "/sessions/?range=all")
    assert "Too many streams to count in time." in shown
    assert "hx-get" not in shown


def test_the_histogram_is_a_page_too(cast: Cast) -> None:
    recorded("one", requested_model="a")
    shown = cast["bob"].get("/sessions/histogram/?range=all&q=model:a").content.decode()
    assert "<h1>Streams by time</h1>" in shown
    assert "<b>1 stream</b>" in shown
    assert 'href="/sessions/?q=model%3Aa&amp;range=all">Sessions' in shown


def test_where_nothing_is_found_nothing_is_counted(cast: Cast) -> None:
    recorded("one")
    assert "hx-get" not in cast["bob"].get("/sessions/?range=all&q=model:b").content.decode()


def test_what_is_hostile_in_a_filter_is_text(cast: Cast) -> None:
    recorded(HOSTILE, requested_model=HOSTILE)
    quoted = HOSTILE.replace('"', '""')
    path = "/sessions/?" + urlencode({"q": f'model:"{quoted}"', "range": "all"})
    shown = cast["bob"].get(path).content.decode()
    assert [unescape(each) for each in labels(cast, path)] == [HOSTILE]
    assert "<script>alert" not in shown
    assert "<script>alert" not in brought(cast, path)
    assert cast["bob"].get("/sessions/?" + urlencode({"q": f"cost:{HOSTILE}"})).content.count(b"<script>alert") == 0


def test_what_makes_no_sense_is_said(cast: Cast) -> None:
    recorded("one")
    shown = cast["bob"].get("/sessions/?range=all&q=cost:much -word").content.decode()
    assert "cost:much must be a number of dollars" in shown
    assert "-word needs a field" in shown


def test_an_id_is_looked_for_in_all_time(cast: Cast) -> None:
    wanted = recorded("old")
    assert labels(cast, f"/sessions/?q={wanted.pk}") == ["old"]


def test_a_filter_can_be_taken_away(cast: Cast) -> None:
    recorded("one")
    shown = cast["bob"].get("/sessions/?range=all&q=model:coder-large&q=outcome:completed").content.decode()
    links = re.findall(r'<a href="([^"]+)" aria-label="Remove the filter ([^"]+)"', shown)
    assert [(unescape(href), name) for href, name in links] == [
        ("/sessions/?q=outcome%3Acompleted&range=all", "model:coder-large"),
        ("/sessions/?q=model%3Acoder-large&range=all", "outcome:completed"),
    ]


def test_a_sessions_page_sets_forks_and_sub_agents_in_below_what_they_left(cast: Cast) -> None:
    first = recorded("one", minutes=0)
    given = {"session": first.session}
    turn = recorded(**given, minutes=1, parent=first.pk, relation="turn")
    helper = recorded(**given, minutes=2, parent=turn.pk, relation="subagent")
    recorded(**given, minutes=3, parent=helper.pk, relation="turn")
    recorded(**given, minutes=4, parent=first.pk, relation="fork")
    recorded(**given, minutes=5, parent=turn.pk, relation="retry")
    recorded(**given, minutes=6, parent=UUID(int=1), relation="turn")
    shown = cast["bob"].get(f"/sessions/{first.session_id}/").content.decode()
    tree = shown[shown.index('<ol class="turn-tree">') : shown.index('aria-label="Conversation"')]
    assert re.findall(r'class="turn-no">([^<]+)<', tree) == ["1", "2b", "2", "2.1", "2.2", "3"]
    assert re.findall(r"(first attempt|fork|sub-agent)(?= |</bdi>)", tree) == ["fork", "first attempt", "sub-agent"]


def test_a_session_says_what_it_took(cast: Cast) -> None:
    first = recorded("agent", input_tokens=11_208, output_tokens=391, cache_read_tokens=9_884, cost=0.5)
    recorded(session=first.session, input_tokens=100, output_tokens=9, cost=1, is_estimated=True)
    recorded(session=first.session, outcome="upstream_error")
    of_all = re.sub(r"\s+", " ", cast["bob"].get("/sessions/?range=all").content.decode())
    assert '≈ 400 out <small class="muted cell-note">≈ 11,308 in <br>9,884 cached</small>' in of_all
    assert "≈ $1.50" in of_all
    of_one = re.sub(r"\s+", " ", cast["bob"].get(f"/sessions/{first.session_id}/").content.decode())
    assert "<bdi>≈ 11,308</bdi><small><bdi>in, 9,884 cached, ≈ 400 out</bdi></small>" in of_one
    assert "<bdi>≈ $1.50</bdi><small><bdi>1 unknown</bdi></small>" in of_one
    assert "9,884 cached, 1,324 new" in of_one
    assert "<small>391 tok</small>" in of_one
    assert "<small>≈ 9 tok</small>" in of_one


def test_the_cost_of_a_run_is_that_of_its_calls_and_unknown_where_theirs_is(cast: Cast) -> None:
    took_none = {"input_tokens": 0, "output_tokens": 0}
    for name, cost, words in (("unpriced", None, "–"), ("priced", 0.5, "$0.5000")):
        run = recorded(name, executor="reasoning", **took_none)
        given = {"session": run.session, "parent": run.pk, "relation": "step"}
        recorded(**given, part="plan 1", input_tokens=10, output_tokens=2, cost=cost)
        recorded(**given, part="tools 1", **took_none)
        of_one = re.sub(r"\s+", " ", cast["bob"].get(f"/sessions/{run.session_id}/").content.decode())
        cost_of_it = of_one[of_one.index("<dt>Cost</dt>") :].partition("</dd>")[0]
        assert (f"<bdi>{words}</bdi>" in cost_of_it, "unknown" in cost_of_it) == (True, False), cost_of_it
    assert "$0.00" not in cast["bob"].get("/sessions/?range=all").content.decode()


def test_a_search_shows_what_it_found_as_text_in_its_place(cast: Cast) -> None:
    stream = recorded("one")
    hold(stream, ["first", "<script>alert(1)</script> & the needle\x1b[0m in <b>hay</b>"])
    shown = cast["bob"].get("/sessions/?range=all&q=needl").content.decode()
    assert f'href="/streams/{stream.pk}/?from=1#b1"' in shown
    assert '&lt;script&gt;alert(1)&lt;/script&gt; &amp; the <mark class="found">needle</mark>' in shown
    assert "\x1b" not in shown


def test_a_filter_without_a_value_is_said_to_lack_one(cast: Cast) -> None:
    for path in ("/sessions/?q=model:", "/?q=model:"):
        shown = cast["bob"].get(path).content.decode()
        assert "Add a value after model:," in shown
        assert "There is no filter" not in shown


def test_a_value_that_no_stream_can_have_is_said(cast: Cast) -> None:
    for path in ("/sessions/?q=verdict:xx", "/?q=verdict:xx"):
        assert "verdict:xx must be one of allow, would allow, " in cast["bob"].get(path).content.decode()


def test_a_filter_that_there_is_not_is_said(cast: Cast) -> None:
    for path in ("/sessions/?q=nonsense:foo", "/?q=nonsense:<b>"):
        shown = cast["bob"].get(path).content.decode()
        assert "There is no filter nonsense:, only model:" in shown
    replaced_by_typing = shown[shown.index('id="socket"') : shown.index('id="peek"')]
    assert "There is no filter nonsense:" in replaced_by_typing
