"""Several workers: what runs on one is shown and counted on another."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer
from django.conf import LazySettings
from redis.exceptions import ConnectionError as RedisConnectionError

from streamviz.core.verdicts import Decision
from streamviz.live import actions, messages, pace, peer_channel
from streamviz.live import peers as peers_module
from streamviz.live.feed import now_us
from streamviz.live.fleet import machines_of, responding
from streamviz.live.pace import Pace
from tests.core.support import call, calls, delta
from tests.live.test_fleet import member
from tests.live.workers import PATIENCE, Worker, labels


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


async def test_a_lost_message_is_made_up_for(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    there.peers._exports.next_number()  # as if a message with this number had been lost
    there.run("two")
    await browser.until(lambda page: labels(page, "running") == ["two", "one"])


async def test_a_worker_that_was_forgotten_is_sent_what_it_missed(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    running = there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    there.peers._exports.forget(-60)  # as if this worker had hung, not that one
    running.now = now_us()
    await running.end()
    await there.peers.tick(there.feed.take_changed(), Pace())
    await browser.until(lambda page: labels(page, "finished") == ["one"])


async def test_what_changes_while_all_rows_are_made_is_told_after_them(
    workers: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = workers
    browser = await here.watch_wall()
    streams = [there.run(str(number)) for number in range(20)]
    await browser.until(lambda page: all(page.has(f"r-{running.id.hex}") for running in streams))
    told: list[messages.Rows] = []
    send = there.peers._channel.send

    async def note(name: str, message: messages.AnyMessage) -> None:
        if isinstance(message, messages.Rows):
            told.append(message)
        await send(name, message)

    monkeypatch.setattr(there.peers._channel, "send", note)
    for name in ("_TURN_SECONDS", "_IMPATIENT_TURN_SECONDS"):
        monkeypatch.setattr(pace, name, 0)
    assert there.publisher._ticker
    there.publisher._ticker.cancel()  # the test itself ticks
    await asyncio.wait([there.publisher._ticker])
    showing = asyncio.create_task(there.peers._show_wall(here.peers.name, again=True))
    await asyncio.sleep(0)
    assert not showing.done()  # it makes one row after the other
    streams[0].now = now_us()
    await streams[0].end()
    await there.peers.tick(there.feed.take_changed(), Pace())
    await showing
    there.publisher.tick_while_watched()
    await browser.until(lambda page: labels(page, "finished") == ["0"])
    whole = next(at for at, each in enumerate(told) if each.is_all)
    later = [each for each in told[whole:] if not each.is_all]
    assert [each.number - told[whole].number for each in later] == list(range(1, len(later) + 1))
    assert streams[0].id in {row.id for each in later for row in each.rows}


async def test_a_row_goes_though_the_message_that_said_so_was_lost(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    running = there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    exports = there.peers._exports
    await exports.take({running.id}, now_us(), Pace())  # the browser may have it from a message with all rows
    there.feed.running.clear()
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
    here.publisher.leave("wall ", browser.subscriber)
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while there.peers.wants_ticks:
            await asyncio.sleep(0.05)


async def test_what_needs_a_person_is_counted_at_all_workers(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    asking = there.run(asks=True)
    await asking.call("{}", "rm")
    await asking.take(delta(finish="tool_calls"))
    async with asyncio.timeout(PATIENCE):
        while here.publisher.count_asking() != 1:
            await asyncio.sleep(0.05)
    await there.peers.stop()  # its count is not kept forever
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while here.publisher.count_asking():
            await asyncio.sleep(0.05)


async def test_a_page_opened_again_shows_the_rows_of_all_workers_again(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    browser = await here.watch_wall()
    there.run("one")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    here.publisher.leave("wall ", browser.subscriber)
    del browser
    again = await here.watch_wall()
    await again.until(lambda page: labels(page, "running") == ["one"])


async def test_what_people_do_does_not_wait_for_the_page_of_a_long_stream(
    workers: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_TURN_SECONDS", "_IMPATIENT_TURN_SECONDS"):
        monkeypatch.setattr(pace, name, 0)  # each step is a turn
    here, there = workers
    long = await there.run("long").take(*[calls(call(n, f"call-{n}", "ls", "{}")) for n in range(500)])
    asking = there.run(asks=True)
    asking.stream.decide = lambda *told: True
    looking = asyncio.ensure_future(here.peers.look_for(long.id))
    await asyncio.sleep(0)
    assert await here.peers.decide(asking.id, 1, Decision.ALLOW, "alice")
    assert not looking.done()
    found = await looking
    assert found is not None
    assert len(found.view.blocks) == 500


async def test_what_is_to_be_said_of_denied_calls_is_told_to_the_others(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    heard: asyncio.Queue[tuple[object, ...]] = asyncio.Queue()
    there.peers.on_denied = lambda *told: heard.put_nowait(told)
    told = 1, ["resp_1", "conv_1"], uuid.uuid4(), [{"type": "function_call_output", "call_id": "call_rm"}]
    here.peers.tell_denied(*told)
    async with asyncio.timeout(PATIENCE):
        assert await heard.get() == told


async def test_what_is_allowed_for_a_session_is_so_at_all_workers(workers: tuple[Worker, Worker]) -> None:
    here, there = workers  # they share this process' list of approvals; `there` is the one that tells others
    session = uuid.uuid4()
    asked = [worker.run(asks=True, session_id=session) for worker in workers]
    allowed: asyncio.Queue[tuple[int, Decision, str]] = asyncio.Queue()

    def decide(*told: Any) -> bool:
        allowed.put_nowait(told)
        return True

    for running in asked:
        await running.call("{}", "rm")
        await running.take(delta(finish="tool_calls"))
        running.stream.decide = decide
    assert actions.decide(there.feed, asked[1].id, 1, Decision.ALLOW, "alice", for_session=True)
    async with asyncio.timeout(PATIENCE):
        assert [await allowed.get() for _ in asked] == [(1, Decision.ALLOW, "alice (for the session)")] * 2
    assert here.feed.running


class Redis(InMemoryChannelLayer):
    """A channel layer that can be down."""

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
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: LazySettings
) -> None:
    monkeypatch.setattr(peers_module, "REMIND_SECONDS", 0.1)
    settings.REDIS_URL = "redis://elsewhere"
    layer = Redis()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    browser = await here.watch_wall()
    here.run("local")
    there.run("remote")
    await browser.until(lambda page: labels(page, "running") == ["local"])
    await browser.until(lambda page: "other servers cannot be reached" in page.text("tally"))
    assert browser.page.text("nav-asks") == "Needs you 0+"
    layer.is_away = False
    await browser.until(lambda page: sorted(labels(page, "running")) == ["local", "remote"])
    assert not here.publisher.wall.are_others_away
    await browser.until(lambda page: page.text("nav-asks") == "Needs you 0")
    for _ in range(3):
        layer.is_away = True
        await here.peers._tell_counts()
    assert caplog.text.count("cannot be reached through Redis: ") == 2  # once a minute for each of the two workers
    for worker in (here, there):
        await worker.peers.stop()


class Hanging(InMemoryChannelLayer):
    """A channel layer that can hang: messages then neither arrive nor fail. `tried` counts attempts to send."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.tried = 0

    async def group_send(self, group: str, message: dict[str, object]) -> None:
        await self.goes_on.wait()
        await super().group_send(group, message)

    async def send(self, channel: str, message: dict[str, object]) -> None:
        self.tried += 1
        await self.goes_on.wait()
        await super().send(channel, message)


async def test_while_redis_hangs_rows_are_told_to_nobody_and_later_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Hanging()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    browser = await here.watch_wall()
    running = await there.run("one").say("before")
    await browser.until(lambda page: labels(page, "running") == ["one"])
    for number in range(10):
        there.peers._exports.want(f"other.{number}")
    layer.goes_on.clear()
    layer.tried = 0
    monkeypatch.setattr(peer_channel, "POST_SECONDS", 0.01)
    await running.say(" and")
    await there.peers.tick(there.feed.take_changed(), Pace())
    await until(lambda: there.peers.is_away)
    assert layer.tried < 10
    layer.tried = 0
    await running.say(" meanwhile")
    await there.peers.tick(there.feed.take_changed(), Pace())
    assert layer.tried == 0
    monkeypatch.setattr(peer_channel, "POST_SECONDS", PATIENCE)
    layer.goes_on.set()
    await browser.until(lambda page: page.text(f"r-{running.id.hex}-tail") == "before and meanwhile")
    for worker in (here, there):
        await worker.peers.stop()


async def test_who_says_nothing_is_forgotten_though_redis_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_module, "FORGET_SECONDS", 0)
    monkeypatch.setattr(peer_channel, "POST_SECONDS", 2 * PATIENCE)
    layer = Hanging()
    worker = Worker(layer)
    await worker.peers.start()
    layer.goes_on.clear()
    worker.peers._told = worker.peers._own_counts()
    worker.peers._exports.want("who.is.gone")
    await until(lambda: not worker.peers.wants_ticks)
    await worker.peers.stop()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_what_a_worker_tells_of_itself_is_heard_and_forgotten(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    there.publisher.itself = lambda: member(4, streams=2)
    await there.peers._tell_counts()
    await until(lambda: here.publisher.members() == [member(4, streams=2)])
    here.publisher.itself = lambda: member(3)
    assert [each.pid for each in here.publisher.members()] == [3, 4]
    await there.peers.stop()
    forgetful()
    await until(lambda: [each.pid for each in responding(here.publisher.members())] == [3])
    [machine] = machines_of(here.publisher.members())  # with as many servers as it should have
    assert [each.pid for each in machine.members] == [3]
