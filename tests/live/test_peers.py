"""Several workers: what runs on one is seen, and acted on, at another."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer
from redis.exceptions import ConnectionError as RedisConnectionError

from streamviz.core.policy import Decision
from streamviz.live import feed, rendering
from streamviz.live import peers as peers_module
from streamviz.live.feed import Feed, now_us
from streamviz.live.hub import Hub
from streamviz.live.link import Link
from streamviz.live.pace import Pace
from streamviz.live.peers import Peers
from streamviz.live.presentation import from_live
from streamviz.live.presentation.views import StreamView
from streamviz.live.remote_stream import RemoteStream
from streamviz.live.wall import Wall
from streamviz.live.wall_topic import WallTopic
from streamviz.live.watcher import OVER, TRY_AGAIN, WINDOW, Message, Watcher, head
from tests.core.support import active, deny_names
from tests.live.support import Page, Running

# Far more than anything here takes: what takes as long does not come.
PATIENCE = 60


class Worker:
    """One worker, and browsers on it."""

    def __init__(self, layer: InMemoryChannelLayer | Link, *, are_workers: bool = True) -> None:
        self.feed = Feed()
        self.hub = Hub(self.feed, Wall(self.feed))
        self.peers = Peers(self.hub, layer, are_workers=are_workers)

    def run(self, label: str = "nightly-triage", **changes: Any) -> Running:
        return Running(self.feed, [active(deny_names("rm"))], now=now_us(), session_label=label, **changes)

    async def watch_wall(self) -> "Browser":
        browser = Browser()

        async def topic() -> WallTopic:
            await self.hub.catch_up()
            return WallTopic(self.hub.wall)

        await self.hub.join("wall ", topic, browser.watcher)
        return browser


class Browser:
    """A page fed by a watcher, as its socket would feed it."""

    def __init__(self) -> None:
        self.watcher = Watcher()
        self.page = Page()
        self.closed: int | None = None

    async def until(self, is_so: Callable[[Page], bool]) -> None:
        """Take messages until the page is so."""
        async with asyncio.timeout(PATIENCE):
            while not (self.page.expected is not None and is_so(self.page)):
                await self.take()

    async def take(self) -> None:
        message: Message = await self.watcher.outbox.get()
        if message.close is not None:
            self.closed = message.close
        else:
            self.page.receive(message.text)
            self.watcher.confirm(message.number)


@pytest.fixture
async def workers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Worker, Worker]]:
    """Two that hear each other, remind each other often, and have all the patience that a busy machine asks for."""
    monkeypatch.setattr(peers_module, "REMIND_SECONDS", 0.2)
    for name in ("FORGET_SECONDS", "ANSWER_SECONDS", "ROWS_SECONDS"):
        monkeypatch.setattr(peers_module, name, 60.0)
    layer = InMemoryChannelLayer()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    yield here, there
    for worker in (here, there):
        await worker.peers.stop()


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when this is called, who says nothing is soon forgotten."""
    return lambda: monkeypatch.setattr(peers_module, "FORGET_SECONDS", 1.0)


@pytest.fixture
def impatient(workers: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for an answer that does not come."""
    monkeypatch.setattr(peers_module, "ANSWER_SECONDS", 0.5)


@pytest.fixture
async def linked(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Worker, Worker]]:
    """A worker, and the process that has its browsers' websockets."""
    monkeypatch.setattr(peers_module, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(peers_module, "ROWS_SECONDS", 60.0)
    ends = socket.socketpair()
    links = [Link(end, name) for end, name in zip(ends, ("server", "screens"), strict=True)]
    server, screens = Worker(links[0], are_workers=False), Worker(links[1])
    for link in links:
        await link.open()
    for worker in (server, screens):
        await worker.peers.start()
    yield server, screens
    for worker in (server, screens):
        await worker.peers.stop()
    for link in links:
        link.close()


def labels(page: Page, group: str) -> list[str]:
    element = page.root.find(f"group-{group}")
    assert element is not None
    return [each.text for each in element.walk() if each.attributes.get("class") == "row-link"]


async def test_the_wall_shows_the_streams_of_all_workers(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    before = there.run("before")
    browser = await here.watch_wall()
    here.run("local")
    await browser.until(lambda page: labels(page, "running") == ["local", "before"])
    after = there.run("after")
    await browser.until(lambda page: len(labels(page, "running")) == 3)
    await before.say("its text")
    await browser.until(lambda page: page.text(f"r-{before.id.hex}-tail") == "its text")
    after.now = now_us()
    await after.end()
    await browser.until(lambda page: labels(page, "finished") == ["after"])
    assert browser.page.text("tally") == "2 running0 held0 stalled"


async def test_the_rows_of_a_worker_that_is_gone_go_too(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    there.run("lost")
    browser = await here.watch_wall()
    await browser.until(lambda page: labels(page, "running") == ["lost"])
    await there.peers.stop()
    forgetful()
    await browser.until(lambda page: labels(page, "running") == [])


async def test_a_lost_letter_is_made_up_for(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    there.peers._exports.next_number()  # as if a letter with this number had been lost
    there.run("two")
    await browser.until(lambda page: labels(page, "running") == ["two", "one"])


async def test_a_worker_that_was_forgotten_is_sent_what_it_missed(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    running = there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    there.peers._exports.forget(-60)  # as if this worker had hung, and not that one
    running.now = now_us()
    await running.end()
    await there.peers.tick(there.feed.take_changed(), Pace())
    await browser.until(lambda page: labels(page, "finished") == ["one"])


async def test_a_row_goes_though_the_letter_that_said_so_was_lost(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    there.feed.running.clear()
    exports = there.peers._exports
    await exports.take(set(), now_us(), Pace())
    assert exports.take_gone()
    exports.next_number()
    await browser.until(lambda page: labels(page, "running") == [])


async def test_nobody_is_told_anything_while_nobody_watches(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    assert there.peers.wants_ticks
    here.hub.leave("wall ", browser.watcher)
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while there.peers.wants_ticks:
            await asyncio.sleep(0.05)


async def test_a_streams_page_grows_at_another_worker(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    first = Browser()
    assert await here.peers.join(running.id, first.watcher)
    await first.until(lambda page: page.text("b0-text") == "one")
    await running.say(" two")
    await first.until(lambda page: page.text("b0-text") == "one two")
    later = Browser()
    assert await here.peers.join(running.id, later.watcher)
    await later.until(lambda page: page.text("b0-text") == "one two")
    running.now = now_us()
    await running.say(" three")
    await running.end()
    for browser in (first, later):
        while browser.closed is None:
            await browser.take()
        assert browser.page.text("b0-text") == "one two three"
        assert browser.closed == OVER
        assert "end" in browser.page.kinds
    assert first.page.kinds.count("snapshot") <= 2


@pytest.mark.usefixtures("impatient")
async def test_a_stream_that_nobody_runs_is_not_joined(workers: tuple[Worker, Worker]) -> None:
    here, _ = workers
    stream_id = uuid.uuid4()
    assert not await here.peers.join(stream_id, Watcher())
    assert here.peers._remote == {}


async def test_what_people_do_reaches_the_worker_that_runs_the_stream(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = there.run()
    heard: list[object] = []

    def decide(*said: object) -> bool:
        heard.append(said)
        return len(heard) == 1

    running.stream.decide = decide
    running.stream.cancel = lambda by: by == "alice"
    assert await here.peers.decide(running.id, 2, Decision.DENY, "alice")
    assert not await here.peers.decide(running.id, 2, Decision.ALLOW, "bob")
    assert heard == [(2, Decision.DENY, "alice"), (2, Decision.ALLOW, "bob")]
    assert await here.peers.cancel(running.id, "alice")
    assert not await here.peers.cancel(running.id, "bob")


@pytest.mark.usefixtures("impatient")
async def test_nobody_acts_on_a_stream_that_nobody_runs(workers: tuple[Worker, Worker]) -> None:
    assert await workers[0].peers.cancel(uuid.uuid4(), "alice") is None


async def test_what_is_held_is_counted_at_all_workers(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    held = there.run()
    await held.call("{", "rm")
    async with asyncio.timeout(PATIENCE):
        while here.hub.count_held() != 1:
            await asyncio.sleep(0.05)
    await there.peers.stop()  # its count is not kept for ever
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while here.hub.count_held():
            await asyncio.sleep(0.05)


async def test_a_page_opened_again_shows_the_rows_of_all_workers_again(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    here.hub.leave("wall ", browser.watcher)
    del browser
    again = await here.watch_wall()
    await again.until(lambda page: labels(page, "running") == ["one"])


async def test_a_worker_that_watches_no_more_is_forgotten(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    running = await there.run().say("one")
    browser = Browser()
    assert await here.peers.join(running.id, browser.watcher)
    assert str(running.id) in there.hub._channels
    here.peers.leave(running.id, browser.watcher)
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while str(running.id) in there.hub._channels:
            await asyncio.sleep(0.05)


async def test_nothing_is_painted_for_those_that_a_worker_has_left(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    assert await here.peers.join(running.id, Browser().watcher)
    assert there.hub._channels
    await there.peers.stop()
    assert not there.hub._channels


async def test_the_first_that_a_browser_is_shown_has_the_rows_of_the_others(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    running = await server.run("one").say("its text")
    async with asyncio.timeout(PATIENCE):
        browser = await screens.watch_wall()
        await browser.take()
    assert labels(browser.page, "running") == ["one"]
    assert browser.page.text(f"r-{running.id.hex}-tail") == "its text"
    assert not server.hub.wall.is_watched  # nothing is painted beside the streams


async def test_a_stream_that_the_server_does_not_run_is_known_at_once(linked: tuple[Worker, Worker]) -> None:
    _, screens = linked
    async with asyncio.timeout(PATIENCE):
        assert not await screens.peers.join(uuid.uuid4(), Watcher())


async def test_streams_that_the_screens_could_run_are_not_asked_for(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    assert server.hub.workers is None
    assert screens.hub.workers is screens.peers


async def test_what_slow_browsers_missed_is_counted_at_the_server(
    linked: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = linked
    monkeypatch.setattr(Watcher, "dropped_of_all", 1234)
    async with asyncio.timeout(PATIENCE):
        while server.peers.dropped != 1234:
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


async def test_one_who_comes_to_a_stream_leaves_the_pages_of_the_others_alone(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    first, second = Browser(), Browser()
    assert await here.peers.join(running.id, first.watcher)
    await first.until(lambda page: page.text("b0-text") == "one")
    await running.say(" two")
    assert await here.peers.join(running.id, second.watcher)
    await second.until(lambda page: page.text("b0-text") == "one two")
    await running.say(" three")
    for browser in (first, second):
        await browser.until(lambda page: page.text("b0-text") == "one two three")
        assert browser.page.kinds.count("snapshot") == 1


async def test_who_missed_something_of_a_stream_that_ended_elsewhere_is_to_come_back() -> None:
    remote, whole, behind = RemoteStream(), Browser(), Browser()
    remote.watchers |= {whole.watcher, behind.watcher}
    remote.take(Message(1, head(1, "snapshot", 0) + '<b id="b0"></b>'), 0, is_text=False)
    for number in range(2, 5):
        piece = f'<i hx-swap-oob="beforeend:#b0">{"x" * WINDOW}</i>'
        remote.take(Message(number, head(number, "delta", 0) + piece), 0, is_text=True)
        whole.watcher.confirm(number)
    remote.take(Message(4, head(4, "end", 0)), 0, is_text=False)
    remote.take(Message(4, "", OVER), 0, is_text=False)
    for browser in (whole, behind):
        while browser.closed is None:
            await browser.take()
    assert (whole.closed, len(whole.page.text("b0")), whole.page.kinds[-1]) == (OVER, 3 * WINDOW, "end")
    assert (behind.closed, "end" in behind.page.kinds) == (TRY_AGAIN, False)


async def test_a_row_that_no_wire_could_carry_is_carried(linked: tuple[Worker, Worker]) -> None:
    server, screens = linked
    server.run("half of \ud83d")
    browser = await screens.watch_wall()
    await browser.until(lambda page: labels(page, "running") == ["half of ?"])


async def test_a_streams_page_looks_the_same_at_another_worker(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run(request=b'{"model": "m"}').say("one \ud83d two")
    await running.call('{"path": "/"}', "rm")
    found = await here.peers.look_for(running.id)
    assert found is not None
    assert found.request == b'{"model": "m"}'
    assert found.view.held
    view = from_live.whole_view_of(running.stream, from_live.view_of(running.stream))
    assert await page_of(found.view) == (await page_of(view)).replace("\ud83d", "?")


async def page_of(view: StreamView) -> str:
    now = view.requested_at
    return await rendering.stream(view, now, Pace()) + "".join(rendering.header(view, now).values())


async def test_a_stream_that_ended_just_now_at_another_worker_is_found(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await (await there.run().say("all")).end()
    found = await here.peers.look_for(running.id)
    assert found is not None
    assert not found.view.is_running
    assert [block.text for block in found.view.blocks] == ["all"]


@pytest.mark.usefixtures("impatient")
async def test_a_stream_that_nobody_runs_is_not_found(workers: tuple[Worker, Worker]) -> None:
    assert await workers[0].peers.look_for(uuid.uuid4()) is None


class Redis(InMemoryChannelLayer):
    """A channel layer that can be away."""

    is_away = True

    def _require_here(self) -> None:
        if self.is_away:
            raise RedisConnectionError("Connection refused")

    async def new_channel(self, prefix: str = "specific.") -> str:
        self._require_here()
        return str(await super().new_channel(prefix))

    async def group_send(self, group: str, message: dict[str, object]) -> None:
        self._require_here()
        await super().group_send(group, message)

    async def send(self, channel: str, message: dict[str, object]) -> None:
        self._require_here()
        await super().send(channel, message)


async def test_without_redis_a_worker_shows_its_own_streams_and_joins_the_others_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(peers_module, "REMIND_SECONDS", 0.1)
    layer = Redis()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    browser = await here.watch_wall()
    here.run("local")
    there.run("remote")
    await browser.until(lambda page: labels(page, "running") == ["local"])
    await browser.until(lambda page: "other servers cannot be reached" in page.text("tally"))
    assert browser.page.text("nav-held") == "0+ held here; other servers cannot be reached"
    layer.is_away = False
    await browser.until(lambda page: sorted(labels(page, "running")) == ["local", "remote"])
    assert not here.hub.wall.are_others_away
    await browser.until(lambda page: page.text("nav-held") == "")
    for _ in range(3):
        layer.is_away = True
        await here.peers._tell_counts()
    assert caplog.text.count("cannot be reached: ") == 2  # by each of the two workers, once a minute
    for worker in (here, there):
        await worker.peers.stop()
