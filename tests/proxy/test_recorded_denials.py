"""Denied calls of another worker, or of an earlier one, found in the record."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.policies import build
from streamviz.proxy import recorded_denials
from streamviz.proxy.recorded_denials import RecordedDenials
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.database import conninfo
from streamviz.records.models import ApiKey, Policy
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from tests.proxy.running import Model
from tests.proxy.test_denied_calls import ASKED, GOT, answer, ask, call
from tests.records.support import move

pytestmark = pytest.mark.django_db(transaction=True)
DENIED = {"type": "function_call_output", "call_id": "call_rm", "output": "[Denied by policy guard.]"}
ANSWERS = (answer("resp_1", call("ls"), call("rm")), answer("resp_2"))


@pytest.fixture
def guarded(worker: Worker) -> Worker:
    parameters = {"names": ["rm", "shell"]}
    policy = Policy.objects.create(name="guard", kind="tool_rule", parameters=parameters, mode="enforce")
    rule = ActivePolicy(build("tool_rule", parameters), "guard", policy.versions.get().pk, 1, Mode.ENFORCE)
    key, _ = ApiKey.objects.issue("a-key")
    worker.configuration.keys[digest("sv-a-key")] = KnownKey(key.pk, "a-key", may_choose_executor=True)
    worker.configuration.key_ids = frozenset([key.pk])
    worker.configuration.policies = (ScopedPolicy("guard", 1, Mode.ENFORCE, (), (), rule),)
    return worker


def restarted(worker: Worker, journal: Path) -> None:
    """Move the journal into the record, and replace the worker's state with that of a new one."""
    worker.afterwards.finish()
    move(journal)
    later = Worker()
    worker.sessions, worker.denied_calls = later.sessions, later.denied_calls
    worker.denied_calls.look_up = RecordedDenials(worker.sessions).find


@pytest.mark.parametrize("named", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}], ids=str)
async def test_the_provider_is_told_after_a_restart_too(
    guarded: Worker, answering: Callable[..., Model], tmp_path: Path, named: dict[str, Any]
) -> None:
    model = answering(*ANSWERS)
    await ask(guarded, conversation="conv_1")
    restarted(guarded, tmp_path)
    await ask(guarded, input=[GOT], **named)
    assert model.requests[1]["input"] == [DENIED, GOT]


async def test_a_conversation_that_has_gone_on_owes_nothing(
    guarded: Worker, answering: Callable[..., Model], tmp_path: Path
) -> None:
    model = answering(*ANSWERS, answer("resp_3"))
    await ask(guarded, conversation="conv_1")
    await ask(guarded, conversation="conv_1", input=[GOT])
    restarted(guarded, tmp_path)
    await ask(guarded, conversation="conv_1")
    assert model.requests[2]["input"] == [ASKED]


async def test_a_shell_at_the_provider_has_given_its_own_output(
    guarded: Worker, answering: Callable[..., Model], tmp_path: Path
) -> None:
    hosted = call("shell", "shell_call", action={"commands": ["ls"]})
    output = {"id": "sco_1", "type": "shell_call_output", "call_id": hosted["call_id"], "output": []}
    model = answering(answer("resp_1", hosted, output), answer("resp_2"))
    await ask(guarded)
    restarted(guarded, tmp_path)
    await ask(guarded, previous_response_id="resp_1")
    assert model.requests[1]["input"] == [ASKED]


async def test_a_record_that_does_not_answer_takes_no_thread_from_others(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorded_denials, "_SECONDS", 0.01)
    denials = RecordedDenials(worker.sessions)
    with psycopg.connect(conninfo()) as other:
        other.execute("LOCK TABLE records_stream IN ACCESS EXCLUSIVE MODE")
        found = [denials.find(KnownKey(1, "a-key"), f"resp_{number}") for number in range(64)]
        assert await asyncio.gather(*found) == [None] * 64
        await asyncio.wait_for(asyncio.to_thread(lambda: None), timeout=60)
    assert caplog.messages[0] == "denied calls of earlier answers are not known: the database does not answer"
