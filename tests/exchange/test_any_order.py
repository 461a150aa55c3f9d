"""Whatever happens, in any order: the client gets a legal end, and the record has everything sent and received."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamviz.core.errors import InternalError, UpstreamError
from streamviz.core.judgements import InParts, ModelSaid, Unanswered
from streamviz.core.policy import ActivePolicy
from streamviz.core.verdicts import Mode
from streamviz.exchange.commands import Begin, Command, CutOff, End, Finish, Record, Respond, Send
from streamviz.exchange.life import State
from streamviz.policies import build
from streamviz.records.recorder import FramesSent, VerdictsGiven
from tests.core.made_streams import BODIES, STREAMS, Chance
from tests.core.support import active
from tests.exchange.policies import AskAboutCalls, AskAboutRequests, as_said
from tests.exchange.support import EVENTS, JSON, Play, chunks_of, event, frames_of
from tests.thorough import examples

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses", "gemini")
NAMED = {"anthropic_messages", "openai_responses"}
ENDS = {"cancelled": ("alice",), "revoked": (), "stopped": (), "broke": (InternalError(),), "left": (), "dropped": ()}
WORDS = ("allow", "deny", "halt")


def policies_of(chance: random.Random) -> list[ActivePolicy]:
    """A random selection of policies, quite often none."""
    text_rule = build("text_rule", {"patterns": ["well|jane"], "in": ["content"], "replacement": "[gone]"})
    some = [
        active(AskAboutCalls(as_said), name="judge"),
        active(AskAboutCalls(as_said), Mode.SHADOW, name="shadow"),
        active(AskAboutRequests({}), name="asks"),
        active(text_rule, name="text"),
    ]
    return [each for each in some if chance.random() < 0.5] if chance.random() < 0.7 else []


def tape_of(format: str, chance: Chance) -> bytes:
    """A streamed answer as upstream sends it; chat sometimes lacks its [DONE]."""
    made = STREAMS[format](chance, chance.random() < 0.5)
    names = [payload.get("type", "") if format in NAMED else "" for payload in made]
    end = b"data: [DONE]\n\n" if format == "openai_chat" and chance.random() < 0.8 else b""
    return b"".join(map(event, made, names)) + end


def play_on(play: Play, tape: bytes, chance: Chance) -> Play:
    """Feed random events until the stream is over."""
    at, is_open, has_ended = 0, False, False
    play.asked()
    for _ in range(400):
        if play.stream.life.is_over:
            break
        happens = chance.random()
        number = chance.choice(sorted(play.context.questions)) if play.context.questions else None
        if happens < 0.02:
            name, details = chance.choice(sorted(ENDS.items(), key=str))
            play.happened(name, *details)
        elif happens < 0.15:
            play.waited(chance.choice([1, 6]))
        elif happens < 0.3 and play.exchange.has_sent_answer:
            play.happened("away")
        elif number is not None and happens < 0.5:
            answer = InParts((ModelSaid(chance.choice(WORDS)),)) if chance.random() < 0.9 else Unanswered("late")
            play.answered(number, answer)
        elif not is_open:
            may_open = not (play.exchange.is_waiting or play.stream.life.is_ending)
            is_open = may_open and open_upstream(play, tape, chance)
        elif play.exchange.is_reading and at < len(tape) and happens < 0.98:
            size = chance.randint(1, 400)
            play.received(tape[at : at + size])
            at += size
        elif not has_ended:
            has_ended = True
            play.ended(UpstreamError(502, "it broke off") if happens > 0.97 else None)
    return play.happened("dropped")


def open_upstream(play: Play, tape: bytes, chance: Chance) -> bool:
    play.forwarded()
    if play.stream.life.state is not State.OPENING:
        return False
    if chance.random() < 0.05:
        play.happened("refused", UpstreamError(429, "slow down", body=chance.choice([b"", b'{"error": "slow"}'])))
        return False
    play.exchange.answered(200, JSON if tape.startswith(b"{") else EVENTS)
    play.happened("tick")
    return True


def is_whole(play: Play) -> None:
    """Assert that all bytes sent were recorded, in order and before they went out, and verdicts before frames."""
    entries = play.entries
    assert play.sent == frames_of(entries)
    recorded = 0
    for command in play.done:
        if isinstance(command, Record):
            kinds = [type(entry) for entry in command.entries]
            if VerdictsGiven in kinds and FramesSent in kinds:
                assert kinds.index(VerdictsGiven) < kinds.index(FramesSent)
            recorded += sum(isinstance(entry, FramesSent) for entry in command.entries)
        elif isinstance(command, Send | Respond):
            recorded -= 1
            assert recorded == 0


def ends_legally(play: Play, format: str) -> None:
    """Assert that the commands form one HTTP response, whose body, as far as it got, is legal in its format."""
    heads = [each for each in play.done if isinstance(each, Begin | Respond)]
    ends = [each for each in play.done if isinstance(each, End | CutOff | Respond) or is_last(each)]
    finishes = [each for each in play.done if isinstance(each, Finish)]
    assert len(heads) <= 1
    assert len(ends) == len(finishes) <= 1
    if finishes:
        outcome = [each for each in play.done if isinstance(each, Finish | End | CutOff | Respond | Send | Begin)][-1]
        assert isinstance(outcome, Finish)
        assert outcome.outcome == play.stream.outcome
    if ends and isinstance(ends[0], End | Send) and play.stream.is_streaming:
        check_events(play, format)
    elif ends and not isinstance(ends[0], CutOff):
        json.loads(play.sent)


def is_last(command: Command) -> bool:
    return isinstance(command, Send) and command.is_last


def check_events(play: Play, format: str) -> None:
    """Assert that there is one final event with nothing after it."""
    events = [part for part in play.sent.decode().split("\n\n") if "data:" in part]
    datas = [line[6:] for part in events for line in part.split("\n") if line.startswith("data: ")]
    last = [data for data in datas if data != "[DONE]"]
    payloads = [json.loads(data) for data in last]
    assert datas
    assert datas.count("[DONE]") <= 1
    if "[DONE]" in datas:
        assert datas[-1] == "[DONE]"
    kinds = [payload.get("type", "") for payload in payloads]
    closing = {"message_stop", "error", "response.completed", "response.failed", "response.incomplete"}
    places = [at for at, kind in enumerate(kinds) if kind in closing]
    if play.stream.outcome == "completed" or format == "openai_chat":
        assert places in ([], [len(kinds) - 1])
    # Only a response may follow its error with an event that says that it failed.
    errors = [at for at, payload in enumerate(payloads) if payload.get("error")]
    assert errors in ([], [len(payloads) - 1]) or kinds[errors[0] + 1 :] == ["response.failed"]


@pytest.mark.parametrize("format", FORMATS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(50))
def test_a_stream_ends_legally_whatever_happens(format: str, seed: int) -> None:
    chance = Chance(seed)
    tape = tape_of(format, chance)
    play = Play(format, policies_of(chance))
    play_on(play, tape, chance)
    is_whole(play)
    ends_legally(play, format)
    came = b"".join(chunks_of(play.entries))
    assert came.startswith(b'{"error"') or tape.startswith(came)
    assert play.stream.life.is_over
    assert play.stream.outcome


@pytest.mark.parametrize("format", FORMATS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(40))
def test_a_whole_answer_ends_legally_whatever_happens(format: str, seed: int) -> None:
    chance = Chance(seed)
    body: Any = BODIES[format](chance, chance.random() < 0.5)
    tape = json.dumps(body).encode() if chance.random() < 0.9 else b'{"choices": ['
    play = Play(format, policies_of(chance), is_streaming=chance.random() < 0.2)
    play_on(play, tape, chance)
    is_whole(play)
    if not play.stream.is_streaming:
        ends_legally(play, format)
    assert play.stream.outcome
