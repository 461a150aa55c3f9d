"""The judging processes: their answers, and what happens to those that take too long, use too much memory, or die."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.judgements import Answer, Judged, Unanswered
from streamviz.core.policy import Work
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision
from streamviz.evaluation.pool import LONGEST_WAIT, Pool
from streamviz.policies import build_short
from tests.clock import Clock
from tests.policies.support import block, context
from tests.services import ROOT

pytestmark = pytest.mark.integration


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    made = Pool(1, 256)
    yield made
    made.close()


def work(kind: str, parameters: dict[str, Any], subject: StreamBlock | ModelCall, **request: Any) -> Work:
    return Work(build_short(kind, parameters), subject, context(request))


async def ask(pool: Pool, of: Work, seconds: float = 60) -> Answer:
    return await pool.judge(of, seconds)


def decision(answer: Answer) -> Decision:
    assert isinstance(answer, Judged)
    assert answer.verdict is not None, answer.failure
    return answer.verdict.decision


LONG = json.dumps({"command": "rm -rf /", "more": "x" * 100_000})
TOOLS = [{"type": "function", "function": {"name": "run", "parameters": {"required": ["path"]}}}]


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("tool_rule", {"arguments": [{"path": "$.command", "pattern": "rm"}]}, Decision.DENY),
        ("cel_rule", {"expression": 'args.command.contains("mkfs")'}, Decision.ALLOW),
        ("cel_rule", {"expression": 'request.tools == ["run"] && stream.seconds == 0.0'}, Decision.DENY),
        ("redact", {}, Decision.ALLOW),
        ("tool_schema", {}, Decision.DENY),
    ],
)
async def test_a_process_says_of_a_call_what_the_policy_would(
    pool: Pool, kind: str, parameters: dict[str, Any], expected: Decision
) -> None:
    asked = work(kind, parameters, block(LONG, name="run"), tools=TOOLS)
    assert decision(await ask(pool, asked)) is expected


@pytest.mark.parametrize(
    ("required", "expected"), [("command", Decision.ALLOW), ("path", Decision.DENY)], ids=["allowed", "denied"]
)
@pytest.mark.parametrize("place", ["functions", "input", "messages"])
async def test_a_process_knows_tools_wherever_the_request_declares_them(
    pool: Pool, place: str, required: str, expected: Decision
) -> None:
    tool = {"name": "run", "parameters": {"required": [required]}}
    added = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool}}
    told = {
        "functions": [tool],
        "input": [{"type": "additional_tools", "tools": [tool]}],
        "messages": [{"role": "system", "content": [added]}],
    }
    asked = work("tool_schema", {}, block(LONG, name="run"), **{place: told[place]})
    assert decision(await ask(pool, asked)) is expected


async def test_a_process_judges_requests_and_texts(pool: Pool) -> None:
    fields = {"messages": [{"role": "user", "content": "mail bob@example.com"}]}
    answer = await ask(pool, work("redact", {}, ModelCall("openai_chat", fields)))
    assert isinstance(answer, Judged)
    assert answer.verdict is not None
    assert answer.verdict.request == {"messages": [{"role": "user", "content": "mail [e-mail removed]"}]}
    rule = {"patterns": ["secret"]}
    answer = await ask(pool, work("text_rule", rule, block("a secret", BlockKind.CONTENT)))
    assert isinstance(answer, Judged)
    assert answer.verdict is not None
    assert answer.verdict.text == "a [removed]"


async def test_what_the_policy_raises_there_is_its_failure(pool: Pool) -> None:
    answer = await ask(pool, work("redact", {}, block("{")))
    assert answer == Judged(None, "ValueError: the arguments cannot be read as one JSON object (it is not JSON)")


async def test_what_takes_too_long_is_killed_and_the_next_is_answered(pool: Pool) -> None:
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    [process] = children()
    os.kill(process, signal.SIGSTOP)
    assert await ask(pool, work("redact", {}, block("{}")), 0.1) == Unanswered("it took longer than 0.1 s")
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    assert process not in children()


async def test_a_process_that_dies_is_the_policys_failure_and_another_takes_its_place(pool: Pool) -> None:
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    [process] = children()
    os.kill(process, signal.SIGSTOP)
    asked = asyncio.ensure_future(ask(pool, work("redact", {}, block("{}"))))
    await asyncio.sleep(0)
    os.kill(process, signal.SIGKILL)
    assert await asked == Judged(None, "Died: the process that ran it ended")
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    assert children() != [process]


async def test_more_memory_than_it_may_have_is_the_policys_failure() -> None:
    pool = Pool(1, 64)
    huge = block(json.dumps({"l": list(range(3_000_000))}))
    try:
        answer = await ask(pool, work("redact", {}, huge))
        assert isinstance(answer, Judged)
        assert answer.failure
        assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    finally:
        pool.close()


async def test_a_process_has_no_setting_and_no_credential(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://x")
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    [process] = children()
    told = environment(process)
    assert b"API_KEY" not in told
    assert b"DATABASE" not in told
    assert b"DJANGO" not in told


async def test_work_beyond_the_processes_waits(pool: Pool) -> None:
    answers = await asyncio.gather(*(ask(pool, work("redact", {}, block("{}"))) for _ in range(20)))
    assert {decision(answer) for answer in answers} == {Decision.ALLOW}
    assert len(children()) == 1


async def test_waiting_for_a_process_is_not_the_policys_time(pool: Pool) -> None:
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    [process] = children()
    os.kill(process, signal.SIGSTOP)
    slow = asyncio.ensure_future(ask(pool, work("redact", {}, block("{}")), 1))
    await asyncio.sleep(0)
    behind = asyncio.ensure_future(ask(pool, work("redact", {}, block("{}")), 0.9))
    assert await slow == Unanswered("it took longer than 1 s")
    assert not behind.done()
    behind.cancel()


async def test_the_start_of_a_process_is_not_the_policys_time(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    never = tmp_path / "python"
    never.write_text("#!/bin/sh\nkill -STOP $$\n")
    never.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(never))
    clock = Clock()
    asked = asyncio.ensure_future(ask(pool, work("redact", {}, block("{}")), 0.1))
    await asyncio.sleep(0)
    await clock.pass_on(LONGEST_WAIT - 1)  # longer than the policy may take
    assert not asked.done()
    while not asked.done():
        await clock.pass_on(LONGEST_WAIT)
    said = "Died: the process that runs it was not ready within 30 s"
    assert asked.result() == Judged(None, said)
    monkeypatch.undo()
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW


async def test_who_waits_too_long_is_told_so(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    [process] = children()
    os.kill(process, signal.SIGSTOP)
    first = asyncio.ensure_future(ask(pool, work("redact", {}, block("{}"))))
    await asyncio.sleep(0)
    monkeypatch.setattr("streamviz.evaluation.pool.LONGEST_WAIT", 0.1)
    assert await ask(pool, work("redact", {}, block("{}"))) == Unanswered("no process was free within 0.1 s")
    monkeypatch.undo()
    os.kill(process, signal.SIGCONT)
    assert decision(await first) is Decision.ALLOW
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW


async def test_owners_take_turns(pool: Pool) -> None:
    done: list[str] = []

    async def judged(owner: str) -> None:
        asked = work("redact", {}, block("{}"))
        asked.context.owner = owner
        assert decision(await ask(pool, asked)) is Decision.ALLOW
        done.append(owner)

    await asyncio.gather(*(judged("flood") for _ in range(20)), judged("other"), judged("third"))
    assert done[:4] == ["flood", "flood", "other", "third"]


async def test_those_who_left_the_queue_hold_nobody_back(pool: Pool) -> None:
    gone = [asyncio.ensure_future(ask(pool, work("redact", {}, block("{}")))) for _ in range(5)]
    await asyncio.sleep(0)
    for each in gone:
        each.cancel()
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW
    assert decision(await ask(pool, work("redact", {}, block("{}")))) is Decision.ALLOW


async def test_no_process_is_left_when_the_pool_is_closed() -> None:
    pool = Pool(2, 64)
    pool.warm()
    async with asyncio.timeout(60):
        while len(children()) != 1:  # its command line shows only once the kernel has executed it
            await asyncio.sleep(0.01)
    pool.close()
    assert children() == []


def environment(process: int) -> bytes:
    return Path(f"/proc/{process}/environ").read_bytes()


def children() -> list[int]:
    """The judging processes that this one has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command, status = (entry / "cmdline").read_bytes(), (entry / "stat").read_text()
        except OSError:
            continue
        if b"streamviz.evaluation.process" in command and int(status.rpartition(")")[2].split()[1]) == os.getpid():
            found.append(int(entry.name))
    return found


def test_what_policies_need_is_imported_before_anybody_waits() -> None:
    script = "import sys, streamviz.evaluation.process; print('streamviz.policies.registry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True"]
