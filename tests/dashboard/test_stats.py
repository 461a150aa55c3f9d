"""The Stats page: figures, charts and tables that agree, and links to the streams behind them."""

import csv
import re
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from django.utils import timezone

from streamviz.dashboard import stats as dashboard_stats
from streamviz.dashboard import stats_csv
from streamviz.dashboard.compared_figures import Compared
from streamviz.dashboard.views.stats import _models
from streamviz.records.ids import uuid7
from streamviz.records.models import ApiKey, Policy, Session, Stream
from streamviz.records.queries import policy_holds, policy_samples, rows, samples
from tests.dashboard.conftest import Cast, recorded
from tests.dashboard.test_sessions import HOSTILE, labels

MINUTE = timedelta(minutes=1)


def page(cast: Cast, query: str = "") -> str:
    return unescape(cast["bob"].get(f"/stats/{query}").content.decode())


def lately(label: str, minutes: int = 30, **changes: object) -> Stream:
    """A stream that began `minutes` ago, with its first chunk after 200 ms."""
    at = timezone.now() - minutes * MINUTE
    first = at + timedelta(milliseconds=200)
    times = {"requested_at": at, "upstream_first_at": first, "ended_at": at + timedelta(seconds=2)}
    return recorded(label, **{**times, **changes})


def test_with_nothing_it_says_what_it_would_show(cast: Cast) -> None:
    shown = page(cast)
    assert "No streams in the last 24 hours" in shown
    assert '<svg class="bars"' not in shown
    recorded("old")
    assert 'href="?range=all&by=model">All time' in page(cast)
    assert "No streams so far" not in page(cast, "?range=all")


def test_with_nothing_of_all_time_it_says_so_in_plain_words(cast: Cast) -> None:
    assert "No streams so far" in " ".join(page(cast, "?range=all").split())
    assert "No errors so far" in cast["bob"].get("/errors/?range=all").content.decode()


def test_what_is_unknown_is_a_dash_and_never_nothing(cast: Cast) -> None:
    lately("one", upstream_first_at=None, outcome="interrupted")
    shown = page(cast)
    assert "Tokens <b>– out, – in</b>" in shown
    assert "from 0 of 1 streams" in shown
    assert "Cost <b>–</b>" in shown
    assert "TTFT upstream <b>p50 –, p95 –</b>" in shown
    assert '<td class="number" data-label="cost">–</td>' in shown


def test_a_table_as_csv_has_each_outcome_by_its_own_name(cast: Cast) -> None:
    """The page's failures are those of upstream and what was interrupted: a table that has both calls neither so."""
    for outcome in ("upstream_error", "upstream_error", "interrupted"):
        lately("one", outcome=outcome)
    [row] = table_of(cast, "csv=group")
    assert (row["upstream_errors"], row["interrupted"]) == ("2", "1")
    assert "failed" not in row
    assert '<td class="number" data-label="failed">3</td>' in page(cast)


def test_figures_are_added_up(cast: Cast) -> None:
    lately("one", input_tokens=10, output_tokens=5, cost=0.25)
    lately("two", input_tokens=20, output_tokens=6, cost=1)
    lately("failed", outcome="upstream_error")
    shown = page(cast)
    assert "Streams <b>3</b>" in shown
    assert "Tokens <b>11 out, 30 in</b>" in shown
    assert "Cost <b>$1.25</b>" in shown
    assert shown.count("from 2 of 3 streams") == 2
    assert "TTFT upstream <b>p50 0.20 s, p95 0.20 s</b>" in shown
    assert "TTFT client <b>p50 –, p95 –</b>" in shown
    assert "estimated" not in shown


def test_failed_are_those_that_the_list_of_sessions_calls_so(cast: Cast) -> None:
    at = timezone.now() - 30 * MINUTE
    for number, outcome in enumerate(("upstream_error", "interrupted", "halted", "halted", "completed")):
        lately(f"{number} {outcome}", outcome=outcome, requested_at=at + timedelta(microseconds=number))
    told = page(cast)
    assert re.findall(r'data-label="(failed|halted)">(\d)<', told) == [("failed", "2"), ("halted", "2")] * 2
    listed = unescape(cast["bob"].get("/sessions/histogram/").content.decode())
    assert re.findall(r'<td class="number">(\d)</td>', listed) == ["5", "0", "0", "2", "2"]
    [failed] = re.findall(r'href="([^"]*)"[^>]*>Failed<', cast["bob"].get("/sessions/").content.decode())
    assert labels(cast, unescape(failed)) == ["1 interrupted", "0 upstream_error"]


def test_cached_tokens_stand_apart_and_estimates_are_marked(cast: Cast) -> None:
    lately("one", input_tokens=1_000, output_tokens=5, cost=0.25, cache_read_tokens=900)
    assert "Tokens <b>5 out, 1,000 in</b>" in page(cast)
    assert "900 of the input cached" in page(cast)
    lately("two", input_tokens=10, output_tokens=2, cost=0.25, is_estimated=True)
    shown = page(cast)
    assert "Tokens <b>≈ 7 out, 1,010 in</b>" in shown
    assert "900 of the input cached, 1 estimated" in shown
    assert "Cost <b>≈ $0.5000</b>" in shown


def test_very_many_say_that_times_are_estimated(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 0)
    lately("one")
    assert "Estimated from some streams: times from one in 65,536; everything else is exact." in page(cast)


def test_what_tools_came_to_is_exact_where_streams_are_few(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLE", 3)
    for n in range(3):
        at = timezone.now() - MINUTE
        lately(f"of {n}").blocks.create(
            ordinal=0, kind="tool_call", name=f"t{n}", first_seq=0, last_seq=0, started_at=at
        )
    assert "Estimated" not in page(cast, "?by=tool")
    told = list(csv.DictReader(cast["bob"].get("/stats/?by=tool&csv=tool").content.decode().splitlines()))
    assert {(row["tool"], row["calls"], row["from_one_in"]) for row in told} == {(f"t{n}", "1", "1") for n in range(3)}


def table_of(cast: Cast, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(cast["bob"].get(f"/stats/?{query}").content.decode().splitlines()))


def test_a_table_says_of_how_many_streams_its_estimates_are(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lately("one")
    for table, column in (("time", "times_from_one_in"), ("group", "times_from_one_in")):
        assert [row[column] for row in table_of(cast, f"csv={table}")] == ["1"]
    monkeypatch.setattr(samples, "SAMPLE", 0)
    for table, column in (("time", "times_from_one_in"), ("group", "times_from_one_in")):
        assert [row[column] for row in table_of(cast, f"csv={table}")] == ["65536"]


def test_what_no_sample_has_of_a_policy_is_estimated_too(
    cast: Cast, guard: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = Policy(name="rare", kind=guard.kind, parameters=guard.parameters)
    rare.save()
    for policy, last, number in ((guard, 0, 9), (rare, 255, 1)):
        stream, at = lately(policy.name, id=UUID(int=uuid7().int & ~255 | last)), timezone.now() - MINUTE
        version = policy.versions.all()[0]
        for n in range(number):
            judged = {"mode": "enforce", "decision": "allow", "at": at, "took_us": 9}
            stream.verdicts.create(number=n, policy_version=version, **judged)
            held = {"held_at": at, "released_at": at + MINUTE / 2, "held_by": [policy.name]}
            stream.blocks.create(ordinal=n, kind="content", first_seq=0, last_seq=0, started_at=at, **held)
    columns = ("verdicts", "verdicts_from_one_in", "held", "holds_from_one_in")

    def figures_of(name: str) -> tuple[str, ...]:
        [row] = [row for row in table_of(cast, "csv=policy") if row["policy"] == name]
        return tuple(row[column] for column in columns)

    assert (figures_of("guard"), figures_of("rare")) == (("9", "1", "9", "1"), ("1", "1", "1", "1"))
    monkeypatch.setattr(policy_samples, "MOST_VERDICTS", 1000)
    assert (figures_of("guard"), figures_of("rare")) == (("36", "4", "9", "1"), ("0", "4", "1", "1"))
    row = page(cast).split('id="by-policy"')[1].split("rare</bdi>")[1].split("</tr>")[0]
    assert re.findall(r'data-label="(?:verdicts|held)">\s*([^<]*?)\s*<', row) == ["≈ 0", "1"]


def test_a_table_of_tools_needs_no_page_of_tools(cast: Cast) -> None:
    stream = lately("one")
    stream.blocks.create(ordinal=0, kind="tool_call", name="t", first_seq=0, last_seq=0, started_at=timezone.now())
    for query in ("csv=tool", "by=tool&csv=group", "by=tool&csv=tool"):
        assert [row["tool"] for row in table_of(cast, query)] == ["t"]


def test_every_bar_and_row_leads_to_its_streams(cast: Cast) -> None:
    lately("early", minutes=300, requested_model="a")
    lately("late", requested_model="b")
    shown = page(cast)
    streams = re.search(r'aria-label="Streams">.*?</section>', shown, re.DOTALL)
    assert streams
    drawn = re.findall(r'<a href="(/sessions/[^"]+)" tabindex="-1">', streams[0])
    in_table = re.findall(r'<td><a class="link" href="([^"]+)"', shown)
    assert drawn == in_table
    assert [labels(cast, href) for href in drawn] == [["early"], ["late"]]


NAMES = {"model": "gpt-4*", "provider": "acme", "key": "CI nightly", "session": HOSTILE}


@pytest.mark.parametrize("group", NAMES)
def test_a_group_leads_to_its_own_streams(cast: Cast, group: str) -> None:
    key, _ = ApiKey.objects.issue("CI nightly")
    lately(HOSTILE, requested_model="gpt-4*", provider="acme", key=key)
    lately("other", requested_model="gpt-4o", provider="")
    raw = cast["bob"].get(f"/stats/?by={group}").content.decode()
    links = {unescape(name): unescape(href) for href, name in re.findall(_GROUP, raw)}
    assert [unescape(each) for each in labels(cast, links[NAMES[group]])] == [HOSTILE]
    if group in ("provider", "key"):
        assert labels(cast, links["–"]) == ["other"]
    assert "<script>alert" not in raw
    bars = re.findall(r'<svg class="small-bars-plot".*?</svg>', raw)
    assert {tuple(labels(cast, unescape(href))) for bar in bars for href in re.findall(r'href="([^"]+)"', bar)} == {
        ("other",),
        (re.sub("'", "&#x27;", HOSTILE.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")),),
    }


_GROUP = r'<td class="wide"><a class="row-link" href="([^"]+)"><bdi>(.*?)</bdi>'


def test_sessions_that_are_called_alike_are_two(cast: Cast) -> None:
    of_each = {lately("alike", cost=cost).session_id: cost for cost in (1, 2)}
    raw = cast["bob"].get("/stats/?by=session").content.decode()
    links = [unescape(href) for href, name in re.findall(_GROUP, raw) if name == "alike"]
    ids = re.findall(r'session-id"><bdi>(.*?)</bdi>', raw)
    assert set(ids) == {Session.objects.get(pk=id).known_as for id in of_each}
    assert [labels(cast, href) for href in links] == [["alike"], ["alike"]]
    told = cast["bob"].get("/stats/?by=session&csv=group").content.decode()
    found = list(csv.DictReader(told.splitlines()))
    assert {row["id"]: float(row["cost"]) for row in found} == {str(id): cost for id, cost in of_each.items()}
    assert {row["name"] for row in found} == {"alike"}


def test_very_many_groups_are_cut_off_and_counted(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard_stats, "MOST_GROUPS", 1)
    for model in ("a", "a", "b", "c"):
        lately("one", requested_model=model)
    shown = page(cast)
    assert re.findall(_GROUP, shown)[0][1] == "a"
    assert "And 2 more with fewer streams." in shown


def test_policies_have_verdicts_holds_and_changes(cast: Cast, guard: Policy) -> None:
    guard.mode = "enforce"
    guard.save(reason="<b>it is time</b>")
    version = guard.versions.all()[0]
    stream, at = lately("judged"), timezone.now() - MINUTE
    for number, (mode, decision) in enumerate([("enforce", "allow"), ("enforce", "deny"), ("shadow", "deny")]):
        stream.verdicts.create(
            number=number, policy_version=version, mode=mode, decision=decision, at=at, took_us=40_000
        )
    late = {"at": at + timedelta(seconds=3), "took_us": 3_000_000, "by": "bob"}
    stream.verdicts.create(number=3, ordinal=1, policy_version=version, mode="enforce", decision="deny", **late)
    for ordinal, released_at in enumerate([at + timedelta(seconds=3), None]):
        held = {"held_at": at, "released_at": released_at, "completed_at": at, "held_by": ["guard"]}
        stream.blocks.create(ordinal=ordinal, kind="tool_call", first_seq=0, last_seq=0, started_at=at, **held)
    raw = cast["bob"].get("/stats/").content.decode()
    by_policy = re.sub("</?span>", "", raw.split('id="by-policy"')[1])
    found = dict(re.findall(r'data-label="(\w[\w ]*)">([^<]*)<', by_policy))
    assert (found["verdicts"], found["intervened"], found["shadow"], found["failures"]) == ("4", "2", "1", "0")
    # What a person denied was held until then, and the person's time does not count as the policy's.
    assert (found["took"], found["held"], found["hold"]) == ("40 ms, 40 ms", "2", "3.00 s, 3.00 s")
    assert 'class="bar-change"' in raw
    assert '<a class="link" href="/policies/guard/">guard v2</a>' in raw
    assert "&lt;b&gt;it is time" in raw
    assert "<b>it is time" not in raw
    assert labels(cast, unescape(re.findall(_GROUP, raw.split('id="by-policy"')[1])[0][0])) == ["judged"]


def test_a_policy_that_held_nothing_has_a_row(cast: Cast, guard: Policy) -> None:
    stream = lately("judged")
    verdict = {"policy_version": guard.versions.all()[0], "mode": "shadow", "decision": "allow", "took_us": 40_000}
    stream.verdicts.create(number=0, at=timezone.now() - MINUTE, **verdict)
    told = cast["bob"].get("/stats/").content.decode().split('id="by-policy"')[1]
    found = dict(re.findall(r'data-label="(\w[\w ]*)">\s*([^<]*?)\s*<', told))
    assert (found["verdicts"], found["held"], found["hold"]) == ("1", "0", "–")


def test_a_choice_keeps_the_other(cast: Cast) -> None:
    lately("one")
    shown = page(cast, "?range=7d&by=key")
    assert 'href="?range=30d&by=key">30 d' in shown
    assert 'href="?range=7d&by=session">session' in shown
    assert 'href="?range=7d&by=key" aria-current="true">key' in shown
    assert "By model" in page(cast, "?by=nonsense&range=nonsense")


def test_it_says_when_it_took_too_long(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lately("one")
    monkeypatch.setattr(rows, "SECONDS", 0.1)
    monkeypatch.setattr(policy_holds, "_OF_ALL", "SELECT pg_sleep(5)::text")
    assert "These figures took too long." in page(cast)
    assert cast["bob"].get("/stats/?csv=policy").status_code == 503


def figures(shown: str) -> dict[str, str]:
    head = shown[shown.index('class="headline"') : shown.index("</dl>")]
    return {
        name: " ".join(re.sub(r"<[^>]*>", " ", rest).split())
        for name, rest in re.findall(r"<dt>(.*?)</dt>(.*?)</div>", head)
    }


def test_a_model_is_compared_with_another_in_the_same_time(cast: Cast) -> None:
    for model, cost in (("a", 0.25), ("a", 0.25), ("b", 1)):
        lately(f"of {model}", requested_model=model, cost=cost)
    shown = page(cast, "?model=a&against=b")
    assert figures(shown)["Cost"] == "$0.5000 −50% $1.00 b"
    assert re.findall(_GROUP, shown)[0][1] == "a"
    streams = re.search(r'aria-label="Streams">.*?</section>', shown, re.DOTALL)
    assert streams
    found = [labels(cast, href) for href in re.findall(r'<a href="(/sessions/[^"]+)"', streams[0])]
    assert found == [["of a"] * 2]
    assert 'href="?range=7d&by=model&model=a&against=b"' in shown
    assert '<option value="b" selected>' in shown


def test_a_model_without_streams_is_not_taken_for_all_models(cast: Cast) -> None:
    lately("one", requested_model="a")
    shown = page(cast, "?range=24h&model=older%00")
    assert "No streams of <bdi>older</bdi> in the last 24 hours" in shown
    assert 'class="button" href="?range=24h&by=model"' in shown
    assert page(cast, "?csv=group&model=older").count("\n") == 1  # its head
    assert '<option value="older" selected>' in page(cast, "?model=a&against=older")


def test_chosen_models_without_streams_come_in_their_order(db: None) -> None:
    pairs = [[f"a{number}", f"b{number}"] for number in range(10)]
    assert [_models(Compared("", *pair)) for pair in pairs] == pairs


def test_tables_are_sorted_by_what_they_show(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for model, cost in (("a", 0.1), ("a", 0.1), ("b", 1), ("c", None)):
        lately(model, requested_model=model, cost=cost)
    for sort, wanted in (("", "abc"), ("-cost", "bac"), ("cost", "abc"), ("name", "abc"), ("-name", "cba")):
        found = [name for _, name in re.findall(_GROUP, page(cast, f"?sort={sort}"))]
        assert "".join(found) == wanted, sort
    monkeypatch.setattr(dashboard_stats, "MOST_GROUPS", 1)
    assert [name for _, name in re.findall(_GROUP, page(cast, "?sort=-cost"))] == ["b"]


def test_each_table_is_csv(cast: Cast, guard: Policy) -> None:
    lately("one", cost=0.5)
    for table in stats_csv.TABLES:
        answer = cast["bob"].get(f"/stats/?csv={table}")
        assert answer["Content-Type"].startswith("text/csv")
        assert len(answer.content.decode().splitlines()[0].split(",")) > 4
    changed = cast["bob"].get("/stats/?csv=changes").content.decode().splitlines()
    assert "guard,1,off" in changed[1]
