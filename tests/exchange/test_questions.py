"""What policies ask: each question costs the same however many are open, and no one waits for a shadow policy's."""

from collections.abc import Iterator
from typing import Any

import pytest

from streamviz.core.judgements import InParts, ModelSaid, Question, Unanswered
from streamviz.core.verdicts import Mode
from tests.core.support import active, call, calls, delta
from tests.exchange.policies import AskAboutCalls, AskAboutRequests, Ends, Looks, as_said
from tests.exchange.support import Play, event, run

ALLOWED, DENIED = InParts((ModelSaid("allow"),)), InParts((ModelSaid("deny"),))
CALLED = event(delta(finish="tool_calls"))
COMMENT, KEPT = b": keep-alive\n\n", b'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n'


class Counted(dict[int, Question]):
    """Questions that count how many of them are visited by iterating."""

    looked_at = 0

    def _count(self, walk: Any) -> Iterator[Any]:
        for each in walk:
            self.looked_at += 1
            yield each

    def __iter__(self) -> Iterator[int]:
        return self._count(super().__iter__())

    def __reversed__(self) -> Iterator[int]:
        return self._count(super().__reversed__())

    def keys(self) -> Any:
        self.looked_at += len(self)
        return super().keys()

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()

    def items(self) -> Any:
        self.looked_at += len(self)
        return super().items()


def of_many(count: int, mode: Mode) -> tuple[Play, Counted]:
    """A stream of this many calls, about each of which a model is asked."""
    play = Play(policies=[active(AskAboutCalls(as_said), mode)])
    questions = play.context.questions = Counted()
    play.opened().received(*(event(calls(call(n, f"c{n}", "run", "{}"))) for n in range(count)), CALLED)
    return play, questions


def test_each_answer_costs_the_same_however_many_are_open() -> None:
    play, questions = of_many(90, Mode.ENFORCE)
    play.ended()
    asked = play.asks
    assert len(asked) == 90
    let_out = 0
    for number in asked:
        play.take()
        play.answered(number, ALLOWED)
        let_out += any(word.startswith("send") for word in play.take())
    assert let_out == 90
    assert not questions
    assert questions.looked_at <= 4 * 90
    assert play.stream.outcome == "completed"


def test_shadows_are_heard_out_once_the_client_has_everything_at_the_same_cost() -> None:
    play, questions = of_many(90, Mode.SHADOW)
    play.ended()
    asked = play.asks
    assert play.take()[-1] == "finish completed"
    assert play.exchange.has_questions
    for number in asked:
        assert play.answered(number, DENIED).take() == ["record verdicts"]
    assert not play.exchange.has_questions
    assert len(play.context.judgements) == 90
    assert questions.looked_at <= 4 * 90


def test_a_judge_against_a_call_has_it_replaced_when_the_answer_comes() -> None:
    play = Play(policies=[active(AskAboutCalls(as_said))]).opened()
    play.received(event(calls(call(0, "c0", "rm", "{}"))), CALLED).ended()
    [number] = play.asks
    assert play.exchange.is_waiting
    play.take()
    play.answered(number, DENIED)
    words = play.take()
    assert words[0] == "record verdicts, frames"
    assert words[1].startswith("send the last")
    assert "[as said]" in words[1]
    assert words[-1] == "finish completed"


def test_an_answer_that_halts_closes_upstream_which_still_sends() -> None:
    play = Play(policies=[active(AskAboutCalls(as_said))]).opened()
    play.received(
        event(
            calls(call(0, "c0", "rm", "{}")),
        ),
        CALLED,
    )
    [number] = play.asks
    play.take()
    assert play.answered(number, InParts((ModelSaid("halt"),))).take()[0] == "close upstream"
    assert not play.exchange.is_reading
    assert play.ended().take() == ["end", "finish halted"]


@pytest.mark.parametrize("happens", ["left", "cancelled", "dropped"])
def test_who_ends_a_stream_ends_its_questions(happens: str) -> None:
    play = Play(policies=[active(AskAboutCalls(as_said))]).opened()
    play.received(event(calls(call(0, "c0", "rm", "{}"))), CALLED)
    [number] = play.asks
    play.happened(happens, *(["alice"] if happens == "cancelled" else []))
    assert f"forget {number}" in play.take()
    assert play.answered(number, DENIED).take() == []


def test_the_end_is_judged_once_however_often_it_is_looked_at() -> None:
    policies = [active(AskAboutCalls(as_said), name="asks"), active(ends := Ends({}), name="ends")]
    play = Play(policies=policies).opened()
    play.received(event(calls(call(0, "c0", "rm", "{}"))), CALLED).ended()
    assert play.exchange.is_waiting
    run(play.exchange.advance())
    play.answered(play.asks[0], DENIED)
    assert (ends.seen, play.stream.outcome) == (1, "completed")


def test_a_request_waits_for_its_judge_with_a_head_and_keep_alives() -> None:
    play = Play(policies=[active(AskAboutRequests({}))]).asked()
    [number] = play.asks
    assert play.exchange.is_waiting
    play.take()
    assert play.waited(5).take() == ["record frames", "begin 200", "send : keep-alive"]
    play.answered(number, DENIED).forwarded()
    [verdict, record, send, finish] = play.take()
    assert (verdict, record, finish) == ("record verdicts", "record frames", "finish halted")
    assert send.startswith("send the last")
    assert "[as said]" in send


@pytest.mark.parametrize(("client", "sent"), [("codex_exec/0.169.0 (Debian 12)", KEPT), ("OpenAI/Python 3", COMMENT)])
def test_codex_hears_an_event_then_and_others_none_before_the_response(client: str, sent: bytes) -> None:
    play = Play("openai_responses", policies=[active(AskAboutRequests({}))], user_agent=client).asked()
    assert play.waited(5).sent == sent
    assert play.waited(5).sent == sent * 2


def test_nothing_is_sent_to_a_client_that_is_gone_nor_waited_for() -> None:
    play = Play(policies=[active(Looks({}))]).opened()
    play.received(event(delta(content="hi")), event(delta(finish="stop")))
    assert play.exchange.keep_alive_at is not None
    play.exchange.away()
    assert play.exchange.keep_alive_at is None


def test_a_whole_answer_to_come_is_not_begun_while_its_request_is_judged() -> None:
    play = Play(policies=[active(AskAboutRequests({}))], is_streaming=False).asked()
    play.take()
    assert play.waited(60).take() == []
    play.answered(1, Unanswered("no time"))
    assert not play.exchange.is_waiting
