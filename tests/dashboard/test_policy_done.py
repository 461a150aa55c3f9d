"""What a policy did: each figure matches its verdicts, counted by hand."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from streamviz.dashboard.policy_facts import done, recent_verdicts
from streamviz.dashboard.policy_list import policy_list
from streamviz.dashboard.policy_verdicts import verdict_rows
from streamviz.dashboard.sorting import Sorting
from streamviz.records.models import Block, Policy, Verdict
from streamviz.records.queries.policy_verdicts import verdicts
from tests.dashboard.conftest import Cast, hold, recorded

DAY = timedelta(days=1)
SAID: list[dict[str, Any]] = [
    {"decision": "allow"},
    {"decision": "allow", "by": "alice"},
    {"decision": "deny"},
    {"decision": "deny", "by": "alice"},
    {"decision": "deny", "by": "bob"},
    {"decision": "halt", "failure": "it took too long"},
    {"decision": "replace"},
    {"decision": "deny", "mode": "shadow"},
    {"decision": "deny", "days": 3},
    {"decision": "deny", "days": 9},
]


@pytest.fixture
def judged(guard: Policy) -> Policy:
    stream = recorded()
    version = guard.versions.get()
    for number, said in enumerate(SAID):
        usual = {"mode": "enforce", "took_us": 1, "at": timezone.now() - timedelta(hours=1, days=said.get("days", 0))}
        kept = {name: value for name, value in said.items() if name != "days"}
        Verdict.objects.create(stream=stream, number=number, policy_version=version, **usual | kept)
    return guard


def test_the_last_day_is_added_up(judged: Policy) -> None:
    found = done(judged, timezone.now() - DAY, timezone.now())
    assert (found.judged, found.streams) == (8, 1)
    assert (found.denied, found.halted, found.replaced, found.would) == (3, 1, 1, 1)
    assert (found.failures, found.by_hand, found.by_itself) == (1, 3, 3)
    assert found.people == [("alice", 2), ("bob", 1)]


def test_a_person_who_did_not_answer_is_no_failure_of_the_policy(guard: Policy) -> None:
    version = guard.versions.get()
    stream, at = recorded(minutes=1), timezone.now() - timedelta(minutes=1)
    late = {"policy_version": version, "mode": "enforce", "decision": "deny", "at": at}
    why = ("no answer within 60 s", "TimeoutError: no answer within 5 s")
    for number, (failure, took) in enumerate(zip(why, (60_000_000, 5_000_000), strict=True)):
        stream.verdicts.create(number=number, failure=failure, took_us=took, **late)
    assert done(guard, at - DAY, timezone.now()).failures == 1
    [own] = recent_verdicts(guard, "failed")
    assert own.failure == "TimeoutError: no answer within 5 s"
    rows = [row for group in policy_list(Sorting({}, "", True, QueryDict(), "sort"), {}).groups for row in group.rows]
    assert sum(row.counts.failures for row in rows) == 1
    whole = verdicts(at - DAY, timezone.now(), DAY).whole["guard"]
    # How long nobody answered is not how long the policy took, either.
    assert (whole.failures, whole.took_p50, whole.took_p95) == (1, 5e6, 5e6)
    assert [row.how for row in verdict_rows("guard", list(stream.verdicts.all()))] == ["nobody answered", "on failure"]


@pytest.mark.parametrize(
    ("by", "said"), [("", "0 by the policy, 2 unanswered"), ("alice", "alice 1, 2 unanswered")], ids=["none", "one"]
)
def test_what_nobody_answered_is_told_beside_what_was_decided_by_hand(
    cast: Cast, guard: Policy, by: str, said: str
) -> None:
    usual = {"policy_version": guard.versions.get(), "mode": "enforce", "took_us": 1, "at": timezone.now()}
    stream, late = recorded(), {"failure": "no answer within 60 s"}
    stream.verdicts.create(number=0, decision="deny", **late, **usual)
    stream.verdicts.create(number=1, decision="allow", **late, **usual)
    stream.verdicts.create(number=2, decision="deny" if by else "allow", by=by, **usual)
    page = cast["bob"].get("/policies/guard/").content.decode()
    by_hand = page.partition("Decided by hand</dt>")[2].partition('class="was">')[2].partition("</dd>")[0]
    assert " ".join(re.sub(r"<[^>]+>", "", by_hand).split()) == said


def test_a_week_counts_more_verdicts_than_a_day(judged: Policy) -> None:
    found = done(judged, timezone.now() - 7 * DAY, timezone.now())
    assert (found.judged, found.denied) == (9, 4)


def test_the_page_begins_with_it_and_the_form_waits_for_edit(cast: Cast, judged: Policy) -> None:
    page = cast["alice"].get("/policies/guard/?over=7d").content.decode()
    assert page.index("What it did") < page.index("The rule") < page.index('id="edit"') < page.index('id="policy-form"')
    assert '<details class="rule-edit" id="edit">' in page
    refused = cast["alice"].post("/policies/guard/", {"reason": ""}).content.decode()
    assert '<details class="rule-edit" id="edit" open>' in refused


def test_what_a_shadow_would_have_done_is_never_red(cast: Cast, judged: Policy) -> None:
    page = cast["bob"].get("/policies/guard/?verdicts=shadow").content.decode()
    table = page[page.index('id="verdicts"') : page.index('id="where-not"')]
    assert 'data-shows="moment"' in table  # not only “a day ago”
    assert "verdict-would" in table
    assert "tone-deny" not in table


def test_each_verdict_says_what_the_client_got_and_who_decided(guard: Policy) -> None:
    version, usual = guard.versions.get(), {"took_us": 1, "at": timezone.now()}
    stream, other = recorded(), Policy(name="other", kind="tool_rule", parameters={"names": ["run_shell"]})
    other.save()
    said: list[dict[str, Any]] = [
        {"ordinal": 0, "decision": "allow"},
        {"ordinal": 1, "decision": "deny", "by": "alice", "client_had": 7},
        {"ordinal": 2, "decision": "deny", "mode": "shadow"},
        {"ordinal": 3, "decision": "allow"},
        {"ordinal": 3, "decision": "deny", "policy_version": other.versions.get()},
        {"subject": "request", "decision": "deny", "failure": "no answer"},
    ]
    for number, each in enumerate(said):
        given = {"mode": "enforce", "policy_version": version, **usual, **each}
        Verdict.objects.create(stream=stream, number=number, **given)
    found = {row.verdict.number: row[1:] for row in verdict_rows("guard", recent_verdicts(guard, ""))}
    assert found == {
        0: ("the original", 0, "guard v1", ""),
        1: ("the refusal text", 7, "alice", "by hand"),
        2: ("the original", 0, "guard v1", "in shadow"),
        3: ("the refusal text", 0, "guard v1", ""),
        5: ("an error", 0, "guard v1", "on failure"),
    }


def test_the_page_draws_its_verdicts_over_time(cast: Cast, judged: Policy) -> None:
    page = cast["bob"].get("/policies/guard/").content.decode()
    assert 'aria-label="Verdicts over time"' in page
    assert "The client got" in page
    assert "by hand" in page


def test_the_page_draws_how_long_it_held_and_who_decided(cast: Cast, judged: Policy) -> None:
    assert "Hold time over time" not in cast["bob"].get("/policies/guard/").content.decode()
    stream, held_at = recorded(), timezone.now() - timedelta(hours=1)
    hold(stream, ["rm -rf /"], kind="tool_call")
    Block.objects.update(held_at=held_at, released_at=held_at + timedelta(seconds=3), held_by=["guard"])
    version = judged.versions.get()
    Verdict.objects.create(stream=stream, number=0, ordinal=0, policy_version=version, mode="enforce",
                           decision="allow", by="alice", took_us=3_000_000,
                           at=held_at + timedelta(seconds=3))  # fmt: skip
    page = cast["bob"].get("/policies/guard/").content.decode()
    drawn = page[page.index('aria-label="Hold time over time"') :].split("</section>")[0]
    assert "1 block by a person, p50 3.00 s, p95 3.00 s" in drawn
    assert 'class="bar-by-person"' in drawn
    assert "a person" in drawn[drawn.index("<table") :]
