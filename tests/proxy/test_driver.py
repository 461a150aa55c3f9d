"""What a driver sends of an answer, and in how many messages."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from streamviz.core.judgements import Question
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.live.feed import Feed
from streamviz.proxy import leaving
from streamviz.proxy.driver import Driver
from streamviz.proxy.observers import Observers
from streamviz.proxy.reads import Reads
from streamviz.proxy.slots import Slots
from streamviz.proxy.worker import Worker
from tests.core.support import active, call, calls, delta, deny_names
from tests.exchange.support import EVENTS, Play, event

WHOLE = event(delta(content="hi")) + event(delta(finish="stop")) + event("[DONE]")


class Answer:
    """What upstream sends, in these reads; whether the last one is known to be the last depends on `knows_end`."""

    status = 200
    headers = EVENTS
    left_out: tuple[str, ...] = ()
    is_closed = False

    def __init__(self, reads: list[bytes], knows_end: bool) -> None:
        self._left = list(reads)
        self._knows_end = knows_end

    @property
    def has_ended(self) -> bool:
        return self._knows_end and not self._left

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._left:
            yield self._left.pop(0)
            await asyncio.sleep(0)

    def close(self) -> None:
        """Nothing more will be read."""
        self.is_closed = True


class Recorder:
    """Records nothing."""

    def append(self, entry: Any) -> None:
        """Drop the entry."""

    def flush(self) -> None:
        """Nothing to flush."""

    def has_lost(self, stream_id: Any) -> bool:
        return False


@pytest.mark.parametrize("knows_end", [True, False])
@pytest.mark.parametrize("reads", [[WHOLE], [WHOLE[:50], WHOLE[50:]]])
async def test_a_known_end_goes_out_with_the_last_of_the_answer(reads: list[bytes], knows_end: bool) -> None:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    play = Play().asked().forwarded()
    driver = Driver(play.exchange, Observers(cast(Any, Recorder()), Feed()), cast(Any, None), send, Slots(1))
    await driver.carry(Answer(reads, knows_end))
    bodies = [(message["body"], message["more_body"]) for message in messages[1:]]
    assert b"".join(body for body, _ in bodies) == WHOLE
    assert [more for _, more in bodies] == [True] * (len(bodies) - 1) + [False]
    assert (bodies[-1][0] == b"") is not knows_end
    assert play.stream.outcome == "completed"


async def test_an_answer_that_comes_once_the_client_has_left_is_closed_unread() -> None:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    play, answer = Play().asked().forwarded(), Answer([WHOLE], knows_end=True)
    driver = Driver(play.exchange, Observers(cast(Any, Recorder()), Feed()), cast(Any, None), send, Slots(1))
    play.exchange.left("")
    await driver.carry(answer)
    assert (messages, answer.is_closed, answer.has_ended) == ([], True, False)
    assert play.stream.outcome == "client_disconnected"


async def test_upstream_is_closed_though_the_call_is_cancelled_meanwhile() -> None:
    async def send(message: Any) -> None:
        """Discard the message."""

    driver = Driver(
        Play().asked().forwarded().exchange,
        Observers(cast(Any, Recorder()), Feed()),
        cast(Any, None),
        send,
        Slots(1),
    )
    answer = Answer([], knows_end=False)
    driver._reads = Reads(cast(Any, answer), Slots(1))
    driver._reads.begun = asyncio.get_running_loop().create_future()
    closing = asyncio.ensure_future(driver._close_upstream())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    assert answer.is_closed


def by_hand(name: str) -> ActivePolicy:
    return replace(active(deny_names("rm"), name=name), by_hand=ByHand(60, Decision.DENY))


async def asked(play: Play, policy: str) -> Question:
    """The question to a person about this policy's verdict, once it is asked."""
    while True:
        for question in play.stream.context.questions.values():
            if question.policy.name == policy:
                return question
        await asyncio.sleep(0)


async def test_a_persons_word_is_on_the_question_that_they_saw_not_on_the_next_about_the_same_block() -> None:
    async def send(message: Any) -> None:
        """Discard the message."""

    play = Play(policies=[by_hand("first"), by_hand("second")]).asked().forwarded()
    driver = Driver(play.exchange, Observers(cast(Any, Recorder()), Feed()), cast(Any, None), send, Slots(1))
    said = event(delta(tool_calls=[])) + event(calls(call(0, "c0", "rm", "{}"))) + event(delta(finish="tool_calls"))
    carried = asyncio.ensure_future(driver.carry(Answer([said + event("[DONE]")], knows_end=True)))
    decide = play.stream.decide
    assert decide is not None
    seen = await asked(play, "first")
    assert decide(seen.number, Decision.ALLOW, "alice")
    following = await asked(play, "second")
    assert following.ordinal == seen.ordinal
    assert not decide(seen.number, Decision.ALLOW, "bob")
    assert decide(following.number, Decision.DENY, "bob")
    await carried
    given = [(each.policy.name, each.by, each.verdict.decision) for each in play.stream.context.judgements]
    assert given == [("first", "alice", Decision.ALLOW), ("second", "bob", Decision.DENY)]


class Lingering(Answer):
    """An answer whose connection upstream keeps open."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for read in super().__aiter__():
            yield read
        await asyncio.get_running_loop().create_future()


NO_MARK = WHOLE.removesuffix(event("[DONE]"))
HALF = event(delta(content="hi"))
FAILED = HALF + event({"error": {"message": "overloaded"}})


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (WHOLE, "completed"),
        (NO_MARK, "completed"),
        (FAILED, "upstream_error"),
        (HALF, "client_disconnected"),
    ],
)
@pytest.mark.parametrize("policies", [[], [active(deny_names("rm"))]])
async def test_an_upstream_that_lingers_does_not_make_a_whole_answer_one_that_its_client_left(
    sent: bytes, outcome: str, policies: list[ActivePolicy], worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "END_SECONDS", 0.0)
    left: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        if sent.endswith(message.get("body") or b"?"):
            asyncio.get_running_loop().call_soon(left.set_result, {})

    play, answer = Play(policies=policies).asked().forwarded(), Lingering([sent], knows_end=False)
    driver = Driver(play.exchange, Observers(cast(Any, Recorder()), Feed()), cast(Any, None), send, Slots(1))
    await leaving.until_over(partial(driver.carry, answer), left, driver, worker)
    assert play.stream.outcome == outcome
    assert answer.is_closed
