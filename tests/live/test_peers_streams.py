"""Several workers: the page of a stream that runs on another, and what people do there."""

import asyncio
import uuid
from collections.abc import Callable
from time import monotonic

import pytest
from channels.layers import InMemoryChannelLayer

from streamviz.core.verdicts import Decision
from streamviz.live import messages, rendering
from streamviz.live.feed import now_us
from streamviz.live.pace import Pace
from streamviz.live.peer_channel import PeerChannel
from streamviz.live.presentation.stream_views import whole_view_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.remote_stream import RemoteStream, RemoteStreams
from streamviz.live.stream_topic import StreamTopic
from streamviz.live.subscriber import OVER, TRY_AGAIN, WINDOW, Message, Subscriber, head
from tests.live.support import view_of_running
from tests.live.workers import PATIENCE, Browser, Worker


async def test_a_streams_page_grows_at_another_worker(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    first = Browser()
    assert await here.peers.join(running.id, first.subscriber)
    await first.until(lambda page: page.text("b0-text") == "one")
    await running.say(" two")
    await first.until(lambda page: page.text("b0-text") == "one two")
    later = Browser()
    assert await here.peers.join(running.id, later.subscriber)
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


async def test_a_stream_the_snapshot_of_which_takes_long_is_joined_at_once(
    workers: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = workers
    running = await there.run().say("one")
    is_painted, paint = asyncio.Event(), StreamTopic.snapshot

    async def paint_slowly(topic: StreamTopic, now: int, pace: Pace) -> str:
        await is_painted.wait()
        return await paint(topic, now, pace)

    monkeypatch.setattr(StreamTopic, "snapshot", paint_slowly)
    browser = Browser()
    async with asyncio.timeout(PATIENCE):
        assert await here.peers.join(running.id, browser.subscriber)
    assert browser.subscriber.outbox.empty()
    is_painted.set()
    await browser.until(lambda page: page.text("b0-text") == "one")
    assert browser.page.kinds == ["snapshot"]


async def test_who_waits_for_a_snapshot_is_kept_while_the_worker_answers(
    workers: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = workers
    running = there.run()

    async def paint_for_ever(topic: StreamTopic, now: int, pace: Pace) -> str:
        return str(await asyncio.Future())

    monkeypatch.setattr(StreamTopic, "snapshot", paint_for_ever)
    subscriber = Subscriber()
    async with asyncio.timeout(PATIENCE):
        assert await here.peers.join(running.id, subscriber)
        remote = here.peers._remote._streams[running.id]
        joined_at = remote.heard_at
        while remote.heard_at == joined_at:
            await asyncio.sleep(0.01)
    here.peers._remote.forget(remote.heard_at)
    assert subscriber.closed_with is None
    here.peers._remote.forget(monotonic())
    assert subscriber.closed_with == TRY_AGAIN


@pytest.mark.usefixtures("impatient")
async def test_a_stream_that_nobody_runs_is_not_joined(workers: tuple[Worker, Worker]) -> None:
    here, _ = workers
    stream_id = uuid.uuid4()
    assert not await here.peers.join(stream_id, Subscriber())
    assert here.peers._remote._streams == {}


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


async def test_a_worker_that_watches_no_more_is_forgotten(
    workers: tuple[Worker, Worker], forgetful: Callable[[], None]
) -> None:
    here, there = workers
    running = await there.run().say("one")
    browser = Browser()
    assert await here.peers.join(running.id, browser.subscriber)
    assert str(running.id) in there.publisher._channels
    here.peers.leave(running.id, browser.subscriber)
    forgetful()
    async with asyncio.timeout(PATIENCE):
        while str(running.id) in there.publisher._channels:
            await asyncio.sleep(0.05)


async def test_nothing_is_painted_for_those_that_a_worker_has_left(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    assert await here.peers.join(running.id, Browser().subscriber)
    assert there.publisher._channels
    await there.peers.stop()
    assert not there.publisher._channels


async def test_who_comes_to_a_stream_leaves_the_pages_of_the_others_alone(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().say("one")
    first, second = Browser(), Browser()
    assert await here.peers.join(running.id, first.subscriber)
    await first.until(lambda page: page.text("b0-text") == "one")
    await running.say(" two")
    assert await here.peers.join(running.id, second.subscriber)
    await second.until(lambda page: page.text("b0-text") == "one two")
    await running.say(" three")
    for browser in (first, second):
        await browser.until(lambda page: page.text("b0-text") == "one two three")
        assert browser.page.kinds.count("snapshot") == 1


async def test_who_missed_something_of_a_stream_that_ended_elsewhere_is_to_come_back() -> None:
    remote, whole, behind = RemoteStream(), Browser(), Browser()
    remote.subscribers |= {whole.subscriber, behind.subscriber}
    remote.take(Message(1, head(1, "snapshot", 0) + '<b id="b0"></b>'), 0, is_text=False)
    for number in range(2, 5):
        piece = f'<i hx-swap-oob="beforeend:#b0">{"x" * WINDOW}</i>'
        remote.take(Message(number, head(number, "delta", 0) + piece), 0, is_text=True)
        whole.subscriber.confirm(number)
    remote.take(Message(4, head(4, "end", 0)), 0, is_text=False)
    remote.take(Message(4, "", OVER), 0, is_text=False)
    for browser in (whole, behind):
        while browser.closed is None:
            await browser.take()
    assert (whole.closed, len(whole.page.text("b0")), whole.page.kinds[-1]) == (OVER, 3 * WINDOW, "end")
    assert (behind.closed, "end" in behind.page.kinds) == (TRY_AGAIN, False)


def said(number: int, kind: str, html: str = "") -> Message:
    """A message about a stream that another worker runs."""
    return Message(number, head(number, kind, 0) + html)


def kinds(subscriber: Subscriber) -> list[str]:
    """What a browser would be sent, in short form."""
    waiting = [subscriber.outbox.get_nowait() for _ in range(subscriber.outbox.qsize())]
    return [" ".join(message.text.split(maxsplit=2)[:2]) for message in waiting]


async def test_who_takes_nothing_of_a_stream_elsewhere_is_not_shown_everything_again_and_again() -> None:
    remote, greedy = RemoteStream(), Subscriber()
    remote.subscribers.add(greedy)
    assert remote.wants_snapshot
    remote.take(said(1, "snapshot", "x" * WINDOW), 0, is_text=False)
    for _ in range(5):
        greedy.wants_snapshot = True
        assert not remote.wants_snapshot
        remote.take(said(1, "snapshot", "x" * WINDOW), 0, is_text=False)
    assert kinds(greedy) == ["1 snapshot"]
    assert remote.wants_snapshot
    remote.take(said(1, "snapshot", "x" * WINDOW), 0, is_text=False)
    greedy.wants_snapshot = True
    remote.take(said(1, "end"), 0, is_text=False)
    assert greedy.closed_with == TRY_AGAIN


async def test_who_has_no_room_for_what_all_missed_of_a_stream_elsewhere_is_shown_it_later() -> None:
    remote, quick, slow = RemoteStream(), Subscriber(), Subscriber()
    remote.subscribers |= {quick, slow}
    remote.take(said(1, "snapshot", "x" * WINDOW), 0, is_text=False)
    assert kinds(quick) == ["1 snapshot"]
    remote.take(said(4, "snapshot", "x" * WINDOW), 0, is_text=False)
    remote.take(said(5, "delta"), 0, is_text=False)
    assert kinds(quick) == ["4 snapshot", "5 delta"]
    assert kinds(slow) == ["1 snapshot"]
    assert remote.wants_snapshot
    remote.take(said(5, "snapshot"), 0, is_text=False)
    remote.take(said(6, "delta"), 0, is_text=False)
    assert kinds(quick) == ["6 delta"]
    assert kinds(slow) == ["5 snapshot", "6 delta"]


async def test_a_snapshot_is_asked_for_once_until_it_comes_or_the_worker_is_reminded() -> None:
    layer = InMemoryChannelLayer()
    here, there = [PeerChannel(layer, "streamviz.worker", nothing, nothing) for _ in range(2)]
    for channel in (here, there):
        await channel.open()
    streams, stream_id, subscriber = RemoteStreams(here), uuid.uuid4(), Subscriber()

    def take(kind: str) -> None:
        streams.take(messages.Relayed(there.name, stream_id, 1, said(1, kind).text, False, None))

    async def asked() -> bool:
        message = await there.receive()
        assert isinstance(message, messages.StreamWanted)
        return message.again

    joining = asyncio.create_task(streams.join(stream_id, subscriber))
    assert await asked()
    take("known")
    assert await joining
    for _ in range(3):
        await streams.want_snapshots()
    await streams.remind()
    assert await asked()
    take("snapshot")
    await streams.remind()
    assert not await asked()
    subscriber.wants_snapshot = True
    await streams.want_snapshots()
    assert await asked()


def nothing() -> None:
    """Called if the layer is down, which does not matter here."""


async def test_a_streams_page_looks_the_same_at_another_worker(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run(request=b'{"model": "m"}').say("one \ud83d two")
    await running.call('{"path": "/"}', "rm")
    found = await here.peers.look_for(running.id)
    assert found is not None
    assert found.request == b'{"model": "m"}'
    assert found.view.held
    view = whole_view_of(running.stream, view_of_running(running.stream))
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
async def test_to_cancel_one_that_ended_just_now_at_another_worker_is_too_late(workers: tuple[Worker, Worker]) -> None:
    here, there = workers
    running = await there.run().end()
    assert await here.peers.cancel(running.id, "alice") is False


@pytest.mark.usefixtures("impatient")
async def test_a_stream_that_nobody_runs_is_not_found(workers: tuple[Worker, Worker]) -> None:
    assert await workers[0].peers.look_for(uuid.uuid4()) is None
