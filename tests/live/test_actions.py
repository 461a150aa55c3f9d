"""What people do to running streams, and what becomes of two at once."""

import uuid

from streamviz.core.verdicts import Decision
from streamviz.live.actions import cancel, decide
from streamviz.live.feed import Feed
from tests.live.support import Running


async def test_a_persons_word_reaches_the_stream_once() -> None:
    feed = Feed()
    running = Running(feed)
    heard: list[tuple[int, Decision, str]] = []

    def hear(ordinal: int, decision: Decision, by: str) -> bool:
        heard.append((ordinal, decision, by))
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
