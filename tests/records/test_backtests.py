"""Back-tests over a record: what would be denied now but was not then, in each format, without changing anything."""

import json
import os
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from streamviz.core.errors import PolicyParametersError
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.backtests import jobs
from streamviz.records.backtests.figures import Figures
from streamviz.records.backtests.runner import BATCH, Scope, run
from streamviz.records.deletion import delete_session
from streamviz.records.models import Backtest, Policy, Stream, UpstreamRun, Verdict
from streamviz.records.policies_in_force import scoped_policy
from tests.core.support import call, calls, delta, sse
from tests.dashboard.conftest import recorded

NOON_US = 1_790_000_000_000_000


def tape(stream: Stream, *payloads: Any, gap: int = 10_000) -> Stream:
    """Give a stream these chunks, one every 10 ms."""
    raws = [sse(payload) for payload in payloads] if stream.is_streaming else [json.dumps(payloads[0]).encode()]
    UpstreamRun.objects.create(
        stream=stream, first_seq=0, first_at=NOON_US, offsets=[n * gap for n in range(len(raws))],
        lengths=[len(raw) for raw in raws], payload=b"".join(raws),
    )  # fmt: skip
    return stream


def shell(minutes: int = 0, **changes: Any) -> Stream:
    """A stream with a call of run_shell."""
    start, rest = calls(call(0, "x", "run_shell", '{"a":')), calls(call(0, arguments="1}"))
    return tape(recorded(minutes=minutes, **changes), start, rest, delta(finish="tool_calls"), "[DONE]")


@pytest.fixture
def guard(transactional_db: None) -> Policy:
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["run_shell"]})
    policy.save()
    return policy


def back_test(policy: Policy, streams: int = 1000, since: datetime | None = None) -> Figures:
    return run(scoped_policy(policy.name, policy, 1), policy.pk, Scope(streams, since), lambda figures, done: True)


def test_what_would_newly_be_denied_and_for_how_long_it_would_be_held(guard: Policy) -> None:
    stream = shell()
    tape(recorded(), delta(content="text"), delta(finish="stop"), "[DONE]")
    figures = back_test(guard)
    assert (figures.streams, figures.judged, figures.newly_denied, figures.newly_allowed) == (2, 1, 1, 0)
    assert figures.decisions == {"deny": 1}
    [example] = figures.examples
    assert (example["stream"], example["ordinal"], example["was"], example["now"]) == (str(stream.pk), 0, "", "deny")
    assert Verdict.objects.count() == 0


def test_a_character_that_postgres_has_not_is_no_reason_to_fail(guard: Policy) -> None:
    guard.parameters = {"names": ["run_*"]}
    start, rest = calls(call(0, "x", "run_\0", '{"a":')), calls(call(0, arguments="1}"))
    tape(recorded(), start, rest, delta(finish="tool_calls"), "[DONE]")
    job = Backtest.objects.create(policy=guard, **guard.fields())
    jobs.run_job(job)
    job.refresh_from_db()
    assert (job.state, job.error, len(job.examples)) == ("done", "", 1)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ChunksAway("the object storage refuses: AccessDenied"), "The object storage refuses: AccessDenied"),
        (DatabaseError("the disk is full\nCONTEXT: a row"), "The database failed: the disk is full"),
        (LookupError("a fault of ours"), "It failed because of a fault in streamviz, which the log describes."),
    ],
)
def test_a_back_test_that_fails_says_why_in_words(
    guard: Policy, monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    monkeypatch.setattr(jobs, "run", Mock(side_effect=error))
    job = Backtest.objects.create(policy=guard, **guard.fields())
    with pytest.raises(type(error)):
        jobs.run_job(job)
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", why)


def test_so_does_one_of_a_policy_that_cannot_run(guard: Policy) -> None:
    job = Backtest.objects.create(policy=guard, **guard.fields() | {"parameters": {"names": 7}})
    with pytest.raises(PolicyParametersError):
        jobs.run_job(job)
    job.refresh_from_db()
    assert job.error.startswith("It cannot run: names: ")


def test_holding_is_told_in_the_recordings_own_time(guard: Policy) -> None:
    shell()
    guard.parameters = {"names": ["other"]}
    found = back_test(guard).as_json()
    assert (found["held"], found["wait_max"], found["decisions"]) == (1, 20_000, {"allow": 1})


@pytest.mark.parametrize(("was", "newly"), [("deny", (0, 0)), ("allow", (1, 0))])
def test_it_compares_with_what_the_policy_said_then(guard: Policy, was: str, newly: tuple[int, int]) -> None:
    stream = shell()
    verdict = {"policy_version": guard.versions.get(), "mode": "enforce", "at": stream.requested_at, "took_us": 1}
    Verdict.objects.create(stream=stream, number=0, ordinal=0, decision=was, **verdict)
    figures = back_test(guard)
    assert (figures.newly_denied, figures.newly_allowed) == newly
    guard.parameters = {"names": ["other"]}
    assert back_test(guard).newly_allowed == (1 if was == "deny" else 0)
    Verdict.objects.update(mode="shadow")
    assert back_test(guard).newly_allowed == 0, "what a shadow said was allowed all the same"


def test_what_it_cannot_run_over_it_says(guard: Policy) -> None:
    shell(requested_model="other")
    recorded()
    shell(wire_format="of_a_later_version")
    tape(recorded(), "{broken")
    guard.models_scope = "coder-*"
    assert back_test(guard).skipped == {
        "the model is outside its scope": 1, "no chunks are on record": 1, "no policy runs on this format": 1,
        "it cannot be read": 1,
    }  # fmt: skip


def test_it_runs_over_a_stream_of_which_chunks_are_missing_or_say_nothing(guard: Policy) -> None:
    """As of a damaged record, or of a file that was imported."""
    shell(minutes=1)
    stream = shell()
    usual: dict[str, Any] = {"stream": stream, "first_at": NOON_US + 90_000, "offsets": [0]}
    UpstreamRun.objects.create(**usual, first_seq=7, lengths=[0], payload=b"")
    said = sse(delta(content="text"))
    UpstreamRun.objects.create(**usual, first_seq=2_000, lengths=[len(said)], payload=said)
    figures = back_test(guard)
    assert (figures.streams, figures.newly_denied, dict(figures.skipped)) == (2, 2, {})


def test_a_replay_is_left_to_the_stream_that_it_was_made_of(guard: Policy) -> None:
    shell(requested_model="fast")
    shell(requested_model="replay/019a", provider="replay", upstream_model="coder-large")
    figures = back_test(guard)
    assert (figures.judged, figures.skipped) == (1, {"it is a replay itself": 1})


def test_a_whole_answer_is_judged_too(guard: Policy) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call(None, "x", "run_shell", "{}")]}
    body = {"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    tape(recorded(is_streaming=False), body)
    assert back_test(guard).decisions == {"deny": 1}


def test_a_judge_is_not_asked_and_counts_for_nothing(guard: Policy) -> None:
    shell()
    judge = Policy(name="judge", kind="llm_judge", parameters={"model": "m", "instructions": "x"})
    judge.save()
    figures = back_test(judge)
    assert (figures.asked, figures.judged, figures.decisions) == (1, 0, {})


def test_a_back_test_goes_over_the_newest_streams_in_batches_and_no_further(guard: Policy) -> None:
    for minute in range(BATCH + 5):
        shell(minutes=minute)
    assert back_test(guard).streams == BATCH + 5
    assert back_test(guard, streams=7).streams == 7
    newest = Stream.objects.order_by("-requested_at")[2].requested_at
    assert back_test(guard, since=newest).streams == 3
    seen: list[int] = []
    scoped = scoped_policy(guard.name, guard, 1)

    def report(figures: Figures, done: int) -> bool:
        seen.append(done)
        return False

    run(scoped, guard.pk, Scope(1000), report)
    assert seen == [BATCH]


def test_a_stream_that_is_deleted_while_it_runs_is_no_example(guard: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = shell().session_id

    def run_and_delete(*arguments: Any) -> Figures:
        figures = run(*arguments)
        delete_session(session_id)
        return figures

    monkeypatch.setattr(jobs, "run", run_and_delete)
    job = Backtest.objects.create(policy=guard, **guard.fields())
    jobs.run_job(job)
    job.refresh_from_db()
    assert (job.figures["newly_denied"], job.examples) == (1, [])


def command(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("backtest", *arguments, stdout=out, stderr=StringIO())
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_the_command_prints_the_figures(guard: Policy, tmp_path: Path) -> None:
    shell()
    found = command("guard", "--examples")
    assert (found["streams"], found["newly_denied"], len(found["examples"])) == (1, 1, 1)
    draft = tmp_path / "draft.json"
    draft.write_text('{"names": ["other"]}')
    assert command("guard", "--parameters", str(draft))["newly_denied"] == 0
    guard.parameters = {"names": ["other"]}
    guard.save()
    assert command("guard")["newly_denied"] == 0
    assert command("guard", "--policy-version", "1")["newly_denied"] == 1
    assert command("guard", "--days", "0.0001")["streams"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "No policy is called nobody"),
        (["guard", "--policy-version", "9"], "guard has no version 9"),
        (["guard", "--policy-version", "0"], "guard has no version 0"),
        (["guard", "--streams", "0"], "--streams takes 1 or more, not 0"),
        (["guard", "--streams", "-1"], "--streams takes 1 or more, not -1"),
        (["--job", "99"], "There is no back-test 99"),
        ([], r"Name a policy\. Policies: .*guard"),
    ],
)
def test_the_command_says_what_there_is_not(guard: Policy, arguments: list[str], said: str) -> None:
    before = os.nice(0)
    with pytest.raises(CommandError, match=said):
        command(*arguments)
    assert os.nice(0) == before, "the rest of this process would be slow"
