"""The other workers: their rows on our Live page and ours on theirs, pages of their streams, and people's actions."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from time import monotonic

from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision
from streamviz.live import messages
from streamviz.live.approvals import approvals, nobody
from streamviz.live.exports import Exports
from streamviz.live.feed import now_us
from streamviz.live.pace import Pace
from streamviz.live.peer_answers import PeerAnswers
from streamviz.live.peer_channel import PeerChannel
from streamviz.live.peer_counts import PeerCounts
from streamviz.live.peer_questions import PeerQuestions
from streamviz.live.peer_rows import PeerRows
from streamviz.live.publisher import TICK_SECONDS, Publisher
from streamviz.live.refusals import Refusal
from streamviz.live.remote_stream import RemoteStreams
from streamviz.live.remote_subscribers import RemoteSubscribers
from streamviz.live.row_sources import RowSource
from streamviz.live.subscriber import Subscriber
from streamviz.live.topics import count_asking, newest_ask

log = logging.getLogger(__name__)

# Contained in the channel names of processes that run streams, and of those that only have browsers; Redis's layer puts
# a prefix of its own before them.
WORKER, SCREENS = "streamviz.worker", "streamviz.screens"
# A process that watches repeats that at this interval, and is forgotten after this long without a word.
REMIND_SECONDS = 2.0
FORGET_SECONDS = 7.0
ROWS_SECONDS = 0.5


def _nothing(*_: object) -> None:
    """A process that only has browsers serves no requests."""


class Peers:
    """One worker's end. Messages can be lost: what is wanted is requested again, and what was missed is sent again.

    `are_workers`: whether streams run at the others; `is_worker`: whether they do here, or there are only browsers.
    `is_away` is true while the others cannot be reached; `on_away` is called when that begins. `counts` is what the
    others report about themselves; `on_denied` is called with what they `tell_denied`.
    """

    def __init__(
        self, publisher: Publisher, layer: messages.Layer, *, are_workers: bool, is_worker: bool = True
    ) -> None:
        self._is_worker = is_worker
        self.are_workers = are_workers
        self._publisher = publisher
        self._channel = PeerChannel(layer, WORKER if is_worker else SCREENS, self._note_away, self._note_back)
        self._tasks: list[asyncio.Task[None]] = []
        self._exports = Exports(publisher.feed)
        self._subscribers = RemoteSubscribers(publisher, self._channel)
        self._remote = RemoteStreams(self._channel)
        self._rows = PeerRows(publisher.wall)
        self._told = (0, 0, 0)
        # Held while others are sent rows: nobody who is sent all rows gets a change while those are being prepared.
        self._telling_rows = asyncio.Lock()
        self._changed: set[uuid.UUID] = set()
        self._doing: set[asyncio.Task[None]] = set()
        self._questions = PeerQuestions(self._channel, lambda: self.is_away)
        self._answers = PeerAnswers(publisher.feed, self._channel)
        self._reminded_at = 0.0
        self.counts = PeerCounts()
        self.is_away = False
        self.on_away: Callable[[], None] = lambda: None
        self.on_denied: Callable[[int | None, Sequence[str], uuid.UUID, list[JsonObject]], object] = _nothing

    @property
    def name(self) -> str:
        """Its channel's name; empty until that is open."""
        return self._channel.name

    async def start(self) -> None:
        """Join the other workers: now, or as soon as they can be reached."""
        await self._channel.open()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._tend())]
        self._publisher.peers = self
        approvals.tell_others = self._tell_approval

    async def stop(self) -> None:
        """Leave the other workers."""
        self._publisher.peers = None
        approvals.tell_others = nobody
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._subscribers.forget(monotonic())
        await self._channel.close()

    async def join(self, stream_id: uuid.UUID, subscriber: Subscriber) -> bool:
        """Watch a stream that another worker runs; return False if none answers that it does."""
        return await self._remote.join(stream_id, subscriber)

    async def catch_up(self) -> None:
        """Wait until the rows of the others are on the wall, or they have had time to answer."""
        self._rows.note_forgotten()
        workers = self._workers
        # Until somebody has reported, nobody knows who there is.
        has_all = self._rows.have_come_from(workers) if self.counts.names else not self._rows.are_missing
        if has_all:
            return
        self._rows.came.clear()
        await self._channel.publish(messages.WallWanted(self.name, True))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROWS_SECONDS):
                await self._rows.came.wait()
                while not self._rows.have_come_from(workers):
                    self._rows.came.clear()
                    await self._rows.came.wait()

    def leave(self, stream_id: uuid.UUID, subscriber: Subscriber) -> None:
        """Stop watching: the socket is gone."""
        self._remote.leave(stream_id, subscriber)

    async def look_for(self, stream_id: uuid.UUID) -> messages.Found | None:
        """A stream that another worker runs, or ran until just now; None if none answers that it does."""
        return await self._questions.look_for(stream_id)

    async def decide(
        self, stream_id: uuid.UUID, asks: int, decision: Decision, by: str, *, for_session: bool = False
    ) -> bool | None:
        """Like `actions.decide`, at whichever worker runs the stream; None if none answers."""
        return await self._questions.decide(stream_id, asks, decision, by, for_session=for_session)

    async def cancel(self, stream_id: uuid.UUID, by: str) -> bool | None:
        """Like `actions.cancel`, at whichever worker runs the stream; None if none answers."""
        return await self._questions.cancel(stream_id, by)

    async def refusals(self) -> list[Refusal]:
        """What the other workers refused, as far as they answer."""
        return await self._questions.refusals.ask(self._workers)

    @property
    def _workers(self) -> set[str]:
        return {name for name in self.counts.names if WORKER in name}

    async def tick(self, changed: set[uuid.UUID], pace: Pace) -> None:
        """Send our rows that changed to those who watch; on a later tick if rows are being sent already."""
        if not self.wants_ticks:
            self._changed.clear()
            return
        self._changed |= changed
        if self._telling_rows.locked():
            return
        async with self._telling_rows:
            changed, self._changed = self._changed, set()
            rows = await self._exports.take(changed, now_us(), pace)
            gone = self._exports.take_gone()
            if rows or gone:
                await self._tell_rows(rows, gone)

    @property
    def wants_ticks(self) -> bool:
        """Whether somebody at another worker watches our rows."""
        return bool(self._exports.wanted_by)

    async def _read(self) -> None:
        while True:
            try:
                if (message := await self._channel.receive()) is None:
                    await asyncio.sleep(REMIND_SECONDS)
                else:
                    await self._take(message)
            except Exception:  # One bad message must not stop this worker from reading.
                log.exception("could not do what another worker asked for")

    async def _take(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.WallWanted(sender, again):
                await self._show_wall(sender, again)
            case messages.Rows():
                await self._take_rows(message)
            case messages.Counted():
                self.counts.take(message)
            case messages.StreamWanted(sender, stream_id, again):
                await self._show_stream(sender, stream_id, again)
            case messages.Relayed() | messages.StreamUnknown():
                self._remote.take(message)
            case messages.Decided() | messages.Cancelled() | messages.SessionApproved() | messages.RefusalsWanted():
                await self._answers.act(message)
            case messages.CallsDenied(_, key_id, names, stream_id, outputs):
                self.on_denied(key_id, names, stream_id, outputs)
            case messages.LookedFor():
                self._beside(self._say_found(message))  # takes some time for a long stream
            case messages.Acted() | messages.Found() | messages.RefusalsTold():
                self._questions.take(message)

    def tell_denied(
        self, key_id: int | None, names: Sequence[str], stream_id: uuid.UUID, outputs: list[JsonObject]
    ) -> None:
        """Tell the others what to say of an answer's calls that its client did not get."""
        self._tell(messages.CallsDenied(self.name, key_id, [*names], stream_id, outputs))

    def _tell_approval(self, session_id: uuid.UUID, version_id: int, by: str) -> None:
        self._tell(messages.SessionApproved(self.name, session_id, version_id, by))

    def _tell(self, message: messages.AnyMessage) -> None:
        self._beside(self._channel.publish(message))

    async def _say_found(self, asked: messages.LookedFor) -> None:
        try:
            await self._answers.say_found(asked.sender, asked.question, asked.stream_id)
        except Exception:
            log.exception("could not send another worker the stream %s", asked.stream_id)

    def _beside(self, work: Coroutine[None, None, None]) -> None:
        """Do it in the background, while other messages are read."""
        doing = asyncio.create_task(work)
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _show_wall(self, sender: str, again: bool) -> None:
        if not self._is_worker:
            return
        is_new = self._exports.want(sender)  # a worker that was forgotten has missed changes without knowing
        self._publisher.tick_while_watched()
        if again or is_new:
            async with self._telling_rows:
                rows = await self._exports.all(now_us(), Pace())
                await self._channel.send(sender, messages.Rows(self.name, self._exports.number, True, rows))

    async def _take_rows(self, message: messages.Rows) -> None:
        if not await self._rows.take(message, Pace()):
            self._reminded_at = 0.0  # ask at once for what is missing
        self._publisher.tick_soon()

    async def _show_stream(self, sender: str, stream_id: uuid.UUID, again: bool) -> None:
        if stream := self._publisher.feed.get(stream_id):
            await self._subscribers.show(sender, stream, again)
        elif not self.are_workers:
            await self._channel.send(sender, messages.StreamUnknown(self.name, stream_id))

    async def _tend(self) -> None:
        """Repeat what is wanted, and forget those that no longer want anything."""
        while True:
            await asyncio.sleep(TICK_SECONDS * 2)
            await self._remote.want_snapshots()
            if self._own_counts() != self._told:
                await self._tell_counts()
            if monotonic() - self._reminded_at < REMIND_SECONDS:
                continue
            self._reminded_at = monotonic()
            self._forget()
            await self._remind()

    def _own_counts(self) -> tuple[int, int, int]:
        feed = self._publisher.feed
        return count_asking(feed), Subscriber.dropped_of_all, newest_ask(feed)

    async def _tell_counts(self) -> None:
        self._told = asking, dropped, newest = self._own_counts()
        await self._channel.publish(messages.Counted(self.name, asking, dropped, self._publisher.itself(), newest))

    async def _tell_rows(self, rows: list[RowSource], gone: list[uuid.UUID]) -> None:
        """Send rows only to those that watch: for the others a message would only be work. What cannot be sent now is
        lost, which the numbers will show them."""
        message = messages.Rows(self.name, self._exports.next_number(), False, rows, gone)
        for name in self._exports.wanted_by:
            if self._channel.is_away:
                return
            await self._channel.send(name, message)

    async def _remind(self) -> None:
        await self._tell_counts()  # always: it shows whether they can be reached
        if self._channel.is_away:
            return
        if self.wants_ticks:  # silence would mean that we are gone
            async with self._telling_rows:
                await self._tell_rows([], [])
        if self._publisher.has_wall_subscribers:
            self._rows.note_forgotten()
            await self._channel.publish(messages.WallWanted(self.name, self._rows.are_missing))
        else:
            self._rows.clear()
        await self._remote.remind()

    def _forget(self) -> None:
        limit = monotonic() - FORGET_SECONDS
        self._exports.forget(FORGET_SECONDS)
        self.counts.forget(limit)
        self._subscribers.forget(limit)
        self._rows.forget(limit)
        self._remote.forget(limit)

    def _note_away(self) -> None:
        if not self.is_away:
            self.is_away = self._publisher.wall.are_others_away = self.are_workers
            self.on_away()

    def _note_back(self) -> None:
        if self.is_away:
            self.is_away = self._publisher.wall.are_others_away = False
            self._rows.doubt()
            log.info("the other workers can be reached again")
