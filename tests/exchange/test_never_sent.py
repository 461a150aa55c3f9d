"""When a client got a block, according to the record: never, if it was still waiting when the stream ended."""

import pytest

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.judgements import Answer
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.exchange import recording
from tests.core.support import Opinion, active, call, calls, delta
from tests.exchange.policies import AskAboutCalls, as_said
from tests.exchange.support import JSON, Play, event
from tests.exchange.test_questions import ALLOWED, DENIED

HELD = [
    event(delta(content="before")),
    event(calls(call(0, "a", "ls", "{}"))),
    event(delta(content="behind")),
    event(delta(finish="tool_calls")),
]


def halt_names(*names: str) -> Opinion:
    """Holds all calls, and halts at those with these names."""

    def decide(block: StreamBlock) -> Verdict:
        assert isinstance(block, ToolCallStreamBlock)
        return Verdict(Decision.HALT if block.name in names else Decision.ALLOW)

    return Opinion(decide)


def had(play: Play) -> list[bool]:
    """Whether the client had each block, according to the record."""
    return [block.released_at is not None for block in recording.closed(play.stream).blocks]


@pytest.mark.parametrize("end", ["left", "stopped", "lost"])
def test_what_waited_behind_a_held_call_as_the_stream_ended(end: str) -> None:
    play = Play(policies=[active(AskAboutCalls(as_said))]).opened().received(*HELD).happened(end)
    assert b"before" in play.sent
    assert b"behind" not in play.sent
    assert had(play) == [True, False, False]


@pytest.mark.parametrize("answer", [ALLOWED, DENIED])
def test_what_is_behind_a_call_that_was_decided(answer: Answer) -> None:
    play = Play(policies=[active(AskAboutCalls(as_said))]).opened().received(*HELD).ended()
    play.answered(play.asks[0], answer)
    assert b"behind" in play.sent
    assert had(play) == [True, answer is ALLOWED, True]


@pytest.mark.parametrize(
    ("policy", "is_had"),
    [(active(AskAboutCalls(as_said), Mode.SHADOW), True), (active(halt_names("ls")), False)],
    ids=["a shadow's", "a halt"],
)
def test_what_is_behind_a_call_that_a_policy_is_against(policy: ActivePolicy, is_had: bool) -> None:
    play = Play(policies=[policy]).opened().received(*HELD).ended()
    assert (b"behind" in play.sent) is is_had
    assert had(play) == [True, is_had, is_had]


@pytest.mark.parametrize("is_streaming", [True, False], ids=["streamed", "whole"])
def test_a_call_that_went_out_in_front_of_the_halt_that_came_with_it(is_streaming: bool) -> None:
    both = [call(0, "a", "ls", "{}"), call(1, "b", "rm", "{}")]
    play = Play(policies=[active(halt_names("rm"))], is_streaming=is_streaming)
    if is_streaming:
        play.opened().received(event(calls(*both)), event(delta(finish="tool_calls")))
    else:
        choice = {"index": 0, "message": {"role": "assistant", "tool_calls": both}, "finish_reason": "tool_calls"}
        play.opened(JSON).received(event({"object": "chat.completion", "choices": [choice]})[6:])
    play.ended()
    assert (b'"ls"' in play.sent, b'"rm"' in play.sent) == (True, False)
    assert had(play) == [True, False]
