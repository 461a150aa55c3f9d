"""A worker and the process that has its browsers' websockets."""

import asyncio
import uuid

import pytest

from streamviz.live import feed
from streamviz.live.subscriber import Subscriber
from tests.live.workers import PATIENCE, Worker, labels


async def test_the_first_that_a_browser_is_shown_has_the_rows_of_the_others(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    running = await server.run("one").say("its text")
    async with asyncio.timeout(PATIENCE):
        browser = await screens.watch_wall()
        await browser.take()
    assert labels(browser.page, "running") == ["one"]
    assert browser.page.text(f"r-{running.id.hex}-tail") == "its text"
    assert not server.publisher.wall.is_watched  # the server, which runs the streams, paints nothing


async def test_a_stream_that_the_server_does_not_run_is_known_at_once(linked: tuple[Worker, Worker]) -> None:
    _, screens = linked
    async with asyncio.timeout(PATIENCE):
        assert not await screens.peers.join(uuid.uuid4(), Subscriber())


async def test_streams_that_the_screens_could_run_are_not_asked_for(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    assert server.publisher.workers is None
    assert screens.publisher.workers is screens.peers


async def test_what_slow_browsers_missed_is_counted_at_the_server(
    linked: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = linked
    monkeypatch.setattr(Subscriber, "dropped_of_all", 1234)
    async with asyncio.timeout(PATIENCE):
        while server.peers.counts.dropped != 1234:
            await asyncio.sleep(0.05)


async def test_more_streams_that_end_at_once_than_are_kept_leave_no_row_behind(
    linked: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MOST_RECENT", 20)
    server, screens = linked
    streams = [server.run() for _ in range(25)]
    browser = await screens.watch_wall()
    await browser.until(lambda page: len(labels(page, "running")) == len(streams))
    for running in streams:
        await running.end()
    await browser.until(lambda page: not labels(page, "running"))


async def test_a_row_that_no_wire_could_carry_is_carried(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    server.run("half of \ud83d")
    browser = await screens.watch_wall()
    await browser.until(lambda page: labels(page, "running") == ["half of ?"])


async def test_what_runs_of_a_deleted_session_goes_from_the_screens_at_its_end(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    running = await server.run("one").say("its text")
    browser = await screens.watch_wall()
    await browser.until(lambda page: labels(page, "running") == ["one"])
    for each in linked:
        each.publisher.forget_session(running.stream.session_id)
    await running.end()
    await browser.until(lambda page: not page.has(f"r-{running.id.hex}"))
    assert screens.publisher.wall.entries == {}
