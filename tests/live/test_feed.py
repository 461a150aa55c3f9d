"""The feed: which streams run here, and which of them changed."""

import uuid

from streamviz.live.feed import MOST_RECENT, RECENT_SECONDS, Feed
from tests.live.support import Running


async def test_it_tells_each_change_once() -> None:
    feed = Feed()
    running = await Running(feed).say("a")
    assert feed.take_changed() == {running.id}
    assert feed.take_changed() == set()


async def test_it_has_a_stream_from_its_opening_until_a_while_after_its_end() -> None:
    feed = Feed()
    running = Running(feed)
    assert feed.get(running.id) is running.stream
    await running.end()
    assert feed.running == {}
    assert feed.get(running.id) is running.stream
    running.stream.ended_at = running.now - (RECENT_SECONDS + 1) * 1_000_000
    feed.forget_old(running.now)
    assert feed.get(running.id) is None


async def test_it_keeps_no_more_finished_streams_than_anybody_reads() -> None:
    feed = Feed()
    for _ in range(MOST_RECENT + 10):
        await Running(feed).end()
    assert len(feed.finished) == MOST_RECENT


async def test_it_forgets_all_of_a_stream_though_nobody_asked_for_it() -> None:
    feed = Feed()
    old, new = await Running(feed).end(), Running(feed)
    feed.forget_old(old.now + (RECENT_SECONDS + 1) * 1_000_000)
    assert feed.take_changed() == {new.id}


async def test_what_is_over_of_a_session_goes_with_it() -> None:
    feed = Feed()
    deleted, other = await Running(feed).end(), await Running(feed).end()
    other.stream.session_id = uuid.uuid4()
    running = Running(feed)
    running.stream.session_id = deleted.stream.session_id
    feed.forget_session(deleted.stream.session_id)
    assert [feed.get(each.id) for each in (deleted, other, running)] == [None, other.stream, running.stream]
    assert feed.take_changed() == {other.id, running.id}


async def test_what_runs_of_a_deleted_session_loses_its_label_at_once_and_goes_at_its_end() -> None:
    feed = Feed()
    running, other = Running(feed), Running(feed)
    feed.forget_session(running.stream.session_id)
    assert [each.stream.session_label for each in (running, other)] == ["", "nightly-triage"]
    await running.end()
    await other.end()
    assert [feed.get(each.id) for each in (running, other)] == [None, other.stream]
    assert running.id in feed.take_changed()  # so that those who watch it are told of the end


def test_it_does_not_know_other_streams() -> None:
    assert Feed().get(uuid.uuid4()) is None
