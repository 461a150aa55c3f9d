"""What people do to running streams, and what happens if two do it at once."""

import uuid
from dataclasses import replace

import pytest

from streamviz.core.judgements import PersonDecided
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.live import approvals as approvals_module
from streamviz.live.actions import cancel, decide
from streamviz.live.approvals import Approvals, approvals
from streamviz.live.feed import Feed
from tests.core.support import active, delta, deny_names
from tests.live.support import Running

BY_ALICE = "alice (for the session)"


async def test_a_persons_word_reaches_the_stream_once() -> None:
    feed = Feed()
    running = Running(feed)
    heard: list[tuple[int, Decision, str]] = []

    def hear(asks: int, decision: Decision, by: str) -> bool:
        heard.append((asks, decision, by))
        return len(heard) == 1

    running.stream.decide = hear
    assert decide(feed, running.id, 3, Decision.ALLOW, "alice")
    assert not decide(feed, running.id, 3, Decision.DENY, "bob")
    assert heard[0] == (3, Decision.ALLOW, "alice")


async def test_nothing_happens_to_streams_that_ask_nobody_are_over_or_never_were() -> None:
    feed = Feed()
    running = Running(feed)
    assert not decide(feed, running.id, 0, Decision.ALLOW, "alice")
    assert not cancel(feed, running.id, "alice")
    running.stream.cancel = lambda by: True
    await running.end()
    assert not cancel(feed, running.id, "alice")
    assert not cancel(feed, uuid.uuid4(), "alice")


async def asking(feed: Feed, session_id: uuid.UUID, *versions: int) -> tuple[Running, list[str]]:
    """A stream that asks a person about one call, once for each of these policy versions, and a list of the answers."""
    asks = ByHand(60, Decision.DENY)
    guards = [replace(active(deny_names("rm"), name=f"guard {n}"), version_id=n, by_hand=asks) for n in versions]
    running, heard = Running(feed, guards, session_id=session_id), []
    await running.call("{}", "rm")
    await running.take(delta(finish="tool_calls"))

    def hear(asks: int, decision: Decision, by: str) -> bool:
        if asks not in running.stream.context.questions:
            return False
        heard.append(f"{decision} {by}")
        running.answer(asks, PersonDecided(decision, by))
        return True

    running.stream.decide = hear
    return running, heard


async def test_all_of_a_session_is_what_the_same_policy_asks_in_it_now_and_later() -> None:
    feed, session = Feed(), uuid.uuid4()
    first, of_first = await asking(feed, session, 7)
    _, of_second = await asking(feed, session, 7)
    _, of_other_version = await asking(feed, session, 8)
    _, of_other_session = await asking(feed, uuid.uuid4(), 7)
    assert decide(feed, first.id, 1, Decision.ALLOW, "alice", for_session=True)
    assert of_first == of_second == ["allow alice (for the session)"]
    assert of_other_version == of_other_session == []
    assert approvals.by(session, 7) == BY_ALICE
    assert approvals.by(session, 8) is None
    assert not decide(feed, first.id, 1, Decision.ALLOW, "bob", for_session=True)


async def test_a_denial_is_for_one_call_alone() -> None:
    feed, session = Feed(), uuid.uuid4()
    first, of_first = await asking(feed, session, 7)
    assert decide(feed, first.id, 1, Decision.DENY, "alice", for_session=True)
    assert of_first == ["deny alice"]
    assert approvals.by(session, 7) is None


@pytest.mark.parametrize("for_session", [False, True])
async def test_a_word_on_a_question_is_none_on_the_next_about_the_same_block(for_session: bool) -> None:
    feed, session = Feed(), uuid.uuid4()
    running, heard = await asking(feed, session, 7, 8)
    [seen] = running.stream.context.questions
    assert decide(feed, running.id, seen, Decision.ALLOW, "alice")
    assert not decide(feed, running.id, seen, Decision.ALLOW, "bob", for_session=for_session)
    assert heard == ["allow alice"]
    assert approvals.by(session, 8) is None
    assert running.stream.context.holds[0].asked_by == "guard 8"


def test_approvals_end_when_their_giver_may_no_longer_decide() -> None:
    kept, sessions = Approvals(), [uuid.uuid4() for _ in range(2)]
    for session, name in zip(sessions, ("alice", "bob"), strict=True):
        kept.give(session, 1, name)
    kept.keep({"alice", "carol"})
    assert [kept.by(session, 1) for session in sessions] == [BY_ALICE, None]
    kept.keep({"alice", "bob", "carol"})
    assert kept.by(sessions[1], 1) is None


def test_approvals_end_and_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals_module, "MOST", 2)
    kept, sessions = Approvals(), [uuid.uuid4() for _ in range(3)]
    for session in sessions:
        kept.give(session, 1, "alice")
    assert [kept.by(session, 1) for session in sessions] == [None, BY_ALICE, BY_ALICE]
    monkeypatch.setattr(approvals_module, "SECONDS", 0.0)
    kept.give(sessions[0], 1, "alice")
    assert kept.by(sessions[0], 1) is None
