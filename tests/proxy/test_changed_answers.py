"""What is noted about the client's answer is what its own reader makes of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Decision, Verdict
from streamviz.core.wire import WIRE_FORMATS
from streamviz.policies import build
from streamviz.proxy.transcripts import answers_of
from tests.conversations.providers import BODIES, Ids, Said
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta, deny_names

RULE = {"patterns": ["secret"], "replacement": "[gone]"}
HALT = {"patterns": ["secret"], "action": "halt"}
STREAM = [
    delta(content="the se"),
    delta(content="cr"),
    delta(content="et is out, and no other se"),
    delta(content="cret is"),
    calls(call(0, "call_1", "ls", "{}"), call(1, "call_2", "rm", '{"path": "/"}')),
    delta(finish="tool_calls"),
    "[DONE]",
]


def _replaced(block: StreamBlock) -> Verdict:
    return Verdict(Decision.REPLACE, text=json.dumps({"path": "/work"}))


POLICIES: dict[str, Any] = {
    "none": [],
    "a call denied": [active(deny_names("rm", text=""))],
    "all calls denied": [active(deny_names("rm", "ls"))],
    "a call replaced": [active(Opinion(_replaced))],
    "text replaced": [active(build("text_rule", RULE))],
    "text replaced and a call denied": [active(build("text_rule", RULE)), active(deny_names("ls"))],
    "text masked": [active(build("redact", {"find": ["e-mail"]}))],
    "halted in a text": [active(build("text_rule", HALT))],
    "halted at a call": [active(Opinion(lambda _: Verdict(Decision.HALT)))],
    "halted at the second call": [
        active(Opinion(lambda block: Verdict(Decision.HALT if "path" in block.text else Decision.ALLOW)))
    ],
    "halted by the number of calls": [active(build("limits", {"stream": {"tool_calls": 1}}))],
}


def _said(run: Run) -> list[list[Any]]:
    """What the client's reader has, and what was noted."""
    told = [answers_of(run.client_state.blocks), answers_of(run.context.state.blocks, run.context.instead)]
    return [[(turn.said, turn.call_ids) for turn in turns] for turns in told]


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("stream", [STREAM, [delta(content="Write to a@b.example"), *STREAM]], ids=["", "mail"])
async def test_what_is_noted_of_a_stream_is_what_its_client_reads(
    policies: Sequence[ActivePolicy], stream: list[Any]
) -> None:
    run = await Run(policies).finish(chunks(*stream))
    had, noted = _said(run)
    assert noted == had
    assert bool(run.context.instead) == any(frame.seq is None for frame in run.context.outbox)


async def test_a_stream_of_two_choices_of_which_the_second_is_halted() -> None:
    stream = [delta(content="well"), delta(1, content="the se"), delta(finish="stop"), delta(1, content="cret is out")]
    run = await Run([active(build("text_rule", HALT))]).finish(chunks(*stream, "[DONE]"))
    had, noted = _said(run)
    assert noted == had


@pytest.mark.parametrize("policies", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("format", BODIES)
async def test_what_is_noted_of_a_whole_answer_is_what_its_client_reads(
    policies: Sequence[ActivePolicy], format: str
) -> None:
    answer = Said("The secret is a@b.example.", (("ls", {}), ("rm", {"path": "/"})))
    raw = json.dumps(BODIES[format](answer, Ids())).encode()
    wire_format = WIRE_FORMATS[format]
    run = await Run(policies, wire_format.body_composer(json.loads(raw)), wire_format.aggregator()).finish(
        [Chunk(0, 0, raw, raw)]
    )
    client = wire_format.aggregator()
    client.aggregate(Chunk(0, 0, run.tape, run.tape))
    client.close()
    had = answers_of(client.state.blocks)
    noted = answers_of(run.context.state.blocks, run.context.instead)
    assert [turn.call_ids for turn in noted] == [turn.call_ids for turn in had]
    # After a call, Anthropic's clients get no text: in that case they are recognized by the call's id.
    is_by_id = format == "anthropic_messages" and bool(had[0].call_ids)
    assert [turn.said for turn in noted] == [turn.said for turn in had] or is_by_id
