"""Which parts of rows are sent: little while only text grows, everything when something else changes."""

import asyncio

import pytest

from streamviz.core.events import BlockKind, BlockStarted
from streamviz.live import messages
from streamviz.live import pace as pace_module
from streamviz.live.exports import Exports
from streamviz.live.feed import Feed
from streamviz.live.filters import MOST_CHARACTERS
from streamviz.live.pace import Pace
from streamviz.live.presentation.spark import counts_of
from streamviz.live.presentation.strip import strip_of
from streamviz.live.row_sources import SECOND, RowSources, whole
from tests.core.support import active, call, calls, deny_names
from tests.live.support import Running


async def test_only_the_tail_is_told_while_only_text_grows() -> None:
    running = await Running().say("one")
    sources = RowSources(running.feed)
    first = sources.of(running.stream, running.now)
    assert first.view is not None
    assert [block.text for block in first.view.blocks] == [""]
    await running.say(" two")
    second = sources.of(running.stream, running.now)
    assert (second.view, second.tail.ending) == (None, "one two")


async def test_a_whole_row_is_told_when_a_stream_is_held_or_ends() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).say("one")
    sources = RowSources(running.feed)
    sources.of(running.stream, running.now)
    await running.call("{", "rm")
    held = sources.of(running.stream, running.now)
    assert held.view is not None
    assert held.view.held
    await running.end("cancelled", "alice")
    over = sources.of(running.stream, running.now)
    assert over.view is not None
    assert over.view.outcome == "halted"
    assert sources.of(running.stream, running.now).view is None


async def test_a_running_stream_is_due_once_a_second() -> None:
    running = await Running().say("one")
    sources = RowSources(running.feed)
    assert sources.due(running.now) == [running.id]  # from now on it may turn silent
    sources.of(running.stream, running.now)
    assert sources.due(running.now) == []
    assert sources.due(running.now + SECOND) == [running.id]
    assert sources.of(running.stream, running.now + SECOND).view is not None


async def test_nothing_is_kept_of_streams_that_are_gone() -> None:
    feed = Feed()
    sources = RowSources(feed)
    for _ in range(5):
        running = await Running(feed).say("one")
        sources.of(running.stream, running.now)
        await running.end()
    feed.forget_old(running.now + 3600 * SECOND)
    assert feed.finished == {}
    sources.due(running.now)
    assert sources._told == {}


async def test_who_asks_for_everything_takes_nothing_from_the_others() -> None:
    running = await Running().say("one")
    exports = Exports(running.feed)
    changed = {running.id}
    await exports.take(changed, running.now, Pace())
    await running.end()
    assert [row.view.outcome for row in await exports.all(running.now, Pace()) if row.view] == ["completed"]
    assert [row.view.outcome for row in await exports.take(changed, running.now, Pace()) if row.view] == ["completed"]


async def test_all_rows_are_made_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_TURN_SECONDS", "_IMPATIENT_TURN_SECONDS"):
        monkeypatch.setattr(pace_module, name, 0)
    feed = Feed()
    streams = [Running(feed) for _ in range(20)]
    making = asyncio.create_task(Exports(feed).all(streams[0].now, Pace()))
    turns = 0
    while not making.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= len(streams)
    assert [row.id for row in await making] == [running.id for running in streams]


async def test_of_times_a_row_is_told_what_it_shows() -> None:
    running = Running()
    for _ in range(100):
        running.wait(1)
        await running.say("x")
    source = RowSources(running.feed).of(running.stream, running.now)
    assert source.view is not None
    assert (source.view.chunk_count, list(source.view.received_at)) == (100, [])
    assert source.counts == counts_of(running.stream.times.received_at, running.now)
    assert sum(source.counts) == len(source.counts) == 24


async def test_of_very_many_blocks_a_row_has_the_newest_and_those_that_are_held() -> None:
    running = await Running(policies=[active(deny_names("rm"))]).call("{", "rm")
    for number in range(1_500):
        running.stream.state.apply(BlockStarted(1 + number, BlockKind.CONTENT))
    view = whole(running.stream, running.now).view
    assert view is not None
    assert (len(view.blocks), [block.ordinal for block in view.held]) == (501, [0])
    assert strip_of(view).words.startswith("1,401 earlier, ")


async def test_of_names_a_row_is_told_no_more_than_a_filter_can_ask_for() -> None:
    running = Running()
    names = [f"{index}{'<x>' * 300_000}" for index in range(8)]
    for index, name in enumerate(names):
        await running.take(calls(call(index, f"id {name}", name, "{}")))
    source = whole(running.stream, running.now)
    assert source.view is not None
    assert [block.name for block in source.view.blocks] == [name[:MOST_CHARACTERS] for name in names]
    assert names[-1].startswith(source.tail.name)
    assert len(messages.pack(messages.Rows("a", 1, False, [source]))) < 20_000
