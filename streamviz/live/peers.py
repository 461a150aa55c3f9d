"""The other workers: their rows on our Live page and ours on theirs, their streams' pages here, and what people do."""

import asyncio
import contextlib
import itertools
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import msgspec
from channels.exceptions import ChannelFull
from redis.exceptions import RedisError

from streamviz.core.policy import Decision
from streamviz.live import actions, letters
from streamviz.live.exports import Exports
from streamviz.live.feed import now_us
from streamviz.live.hub import TICK_SECONDS, Hub
from streamviz.live.pace import Pace
from streamviz.live.presentation import from_live
from streamviz.live.remote_stream import RemoteStream
from streamviz.live.row_sources import RowSource
from streamviz.live.topics import count_held
from streamviz.live.visitors import Visitors
from streamviz.live.watcher import TRY_AGAIN, Message, Watcher

log = logging.getLogger(__name__)

GROUP = "streamviz.workers"
# Whoever watches says so every now and then, and is forgotten after a while of saying nothing.
REMIND_SECONDS = 2.0
FORGET_SECONDS = 7.0
ANSWER_SECONDS = 2.0
ROWS_SECONDS = 0.5
TELL_SECONDS = 60.0
_FAILURES = (OSError, RedisError, ChannelFull)


@dataclass(slots=True)
class _Sender:
    """A worker whose rows we have: the number of its last letter (None: one was lost), and which rows."""

    number: int | None = None
    heard_at: float = 0.0
    ids: set[uuid.UUID] = field(default_factory=set)


class _Counts(NamedTuple):
    """What a worker counts, and when it said so."""

    held: int
    dropped: int
    heard_at: float


class Peers:
    """One worker's end. Letters can be lost: what is wanted is said again, and what was missed is sent again.

    `are_workers`: whether streams run at the others; browsers alone may. `is_away` while they cannot be reached, upon
    which `on_away` is called.
    """

    def __init__(self, hub: Hub, layer: letters.Layer, *, are_workers: bool) -> None:
        self.name = ""
        self.are_workers = are_workers
        self._hub = hub
        self._layer = layer
        self._tasks: list[asyncio.Task[None]] = []
        self._exports = Exports(hub.feed)
        self._visitors = Visitors(hub, self._relay)
        self._remote: dict[uuid.UUID, RemoteStream] = {}
        self._senders: dict[str, _Sender] = {}
        self._counts: dict[str, _Counts] = {}
        self._told = (0, 0)
        self._rows_came = asyncio.Event()
        self._questions: dict[int, asyncio.Future[letters.Acted | letters.Found]] = {}
        self._numbers = itertools.count(1)
        self._reminded_at = 0.0
        self._times_forgotten = 0
        self.is_away = False
        self.on_away: Callable[[], None] = lambda: None
        self._failure_told_at = -TELL_SECONDS

    async def start(self) -> None:
        """Join the other workers: now, or as soon as they can be reached."""
        with self._surviving():
            await self._be_heard()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._tend())]
        self._hub.peers = self

    async def _be_heard(self) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            name = await self._layer.new_channel("streamviz.worker")
            await self._layer.group_add(GROUP, name)
        self.name = name

    async def stop(self) -> None:
        """Leave them."""
        self._hub.peers = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._visitors.forget(monotonic())
        with contextlib.suppress(*_FAILURES):
            await self._layer.group_discard(GROUP, self.name)

    async def join(self, stream_id: uuid.UUID, watcher: Watcher) -> bool:
        """Watch a stream that another worker runs; False where none answers that it does."""
        remote = self._remote.setdefault(stream_id, RemoteStream())
        remote.watchers.add(watcher)
        await self._publish(letters.StreamWanted(self.name, stream_id, True))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await remote.answered.wait()
        if not remote.is_known:
            self.leave(stream_id, watcher)
        return remote.is_known

    async def catch_up(self) -> None:
        """The rows of the others are on the wall when this returns, where they answer."""
        self._note_forgotten()
        if not self._is_missing_rows():
            return
        self._rows_came.clear()
        await self._want_wall()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROWS_SECONDS):
                await self._rows_came.wait()

    def leave(self, stream_id: uuid.UUID, watcher: Watcher) -> None:
        """The socket is gone."""
        remote = self._remote.get(stream_id)
        if remote is None:
            return
        remote.watchers.discard(watcher)
        if not remote.watchers:
            del self._remote[stream_id]

    async def look_for(self, stream_id: uuid.UUID) -> letters.Found | None:
        """A stream that another worker runs, or ran just now; None where nobody answers that it does."""
        answer = await self._ask(lambda number: letters.LookedFor(self.name, number, stream_id))
        return answer if isinstance(answer, letters.Found) else None

    async def decide(self, stream_id: uuid.UUID, ordinal: int, decision: Decision, by: str) -> bool | None:
        """As `actions.decide`, at whichever worker runs the stream; None where nobody answers."""
        return await self._act_there(
            lambda number: letters.Decided(self.name, number, stream_id, ordinal, decision, by)
        )

    async def cancel(self, stream_id: uuid.UUID, by: str) -> bool | None:
        """As `actions.cancel`, at whichever worker runs the stream; None where nobody answers."""
        return await self._act_there(lambda number: letters.Cancelled(self.name, number, stream_id, by))

    async def tick(self, changed: set[uuid.UUID], pace: Pace) -> None:
        """Tell those who watch of our rows that changed."""
        if not self.wants_ticks:
            return
        rows = await self._exports.take(changed, now_us(), pace)
        gone = self._exports.take_gone()
        if rows or gone:
            await self._tell_rows(rows, gone)

    @property
    def wants_ticks(self) -> bool:
        """Whether another worker's people watch our rows."""
        return bool(self._exports.wanted_by)

    @property
    def held(self) -> int:
        """How many streams of the other workers have something held."""
        return sum(counts.held for counts in list(self._counts.values()))

    @property
    def dropped(self) -> int:
        """How many updates the others have left out for slow browsers."""
        return sum(counts.dropped for counts in list(self._counts.values()))

    async def _act_there(self, letter: Callable[[int], letters.Any]) -> bool | None:
        answer = await self._ask(letter)
        return answer.is_done if isinstance(answer, letters.Acted) else None

    async def _ask(self, letter: Callable[[int], letters.Any]) -> letters.Acted | letters.Found | None:
        """The first answer; None where there is none in time, and at once while the others cannot be reached."""
        number = next(self._numbers)
        answer = self._questions[number] = asyncio.get_running_loop().create_future()
        try:
            if not self.is_away:
                await self._publish(letter(number))
            async with asyncio.timeout(0 if self.is_away else ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._questions[number]

    async def _read(self) -> None:
        while True:
            try:
                if not self.name:
                    await self._be_heard()
                    self._note_back()
                received = await self._layer.receive(self.name)
                letter = letters.unpack(received["letter"])
                if letter.sender != self.name:
                    await self._take(letter)
            except (*_FAILURES, msgspec.DecodeError) as error:
                self._note_failure(error)
                await asyncio.sleep(REMIND_SECONDS)
            except Exception:  # One letter must not make this worker deaf.
                log.exception("could not do what another worker asked for")

    async def _take(self, letter: letters.Any) -> None:
        match letter:
            case letters.WallWanted(sender, again):
                await self._show_wall(sender, again)
            case letters.Rows():
                self._take_rows(letter)
            case letters.Counted(sender, held, dropped):
                self._counts[sender] = _Counts(held, dropped, monotonic())
            case letters.StreamWanted(sender, stream_id, again):
                await self._show_stream(sender, stream_id, again)
            case letters.Relayed() | letters.StreamUnknown():
                self._take_of_stream(letter)
            case letters.Decided() | letters.Cancelled():
                await self._act(letter)
            case letters.LookedFor(sender, question, stream_id):
                await self._say_found(sender, question, stream_id)
            case letters.Acted() | letters.Found():
                if (answer := self._questions.get(letter.question)) and not answer.done():
                    answer.set_result(letter)

    def _take_of_stream(self, letter: letters.Relayed | letters.StreamUnknown) -> None:
        remote = self._remote.get(letter.stream_id)
        if remote is None:
            return
        if isinstance(letter, letters.Relayed):
            remote.take(Message(letter.number, letter.text, letter.close), now_us(), is_text=letter.is_text)
        else:
            remote.answered.set()

    async def _say_found(self, sender: str, question: int, stream_id: uuid.UUID) -> None:
        if stream := self._hub.feed.get(stream_id):
            view = from_live.whole_view_of(stream, from_live.view_of(stream))
            await self._send(sender, letters.Found(self.name, question, view, stream.request))

    async def _act(self, letter: letters.Decided | letters.Cancelled) -> None:
        feed, stream_id = self._hub.feed, letter.stream_id
        if stream_id not in feed.running:
            return
        if isinstance(letter, letters.Cancelled):
            is_done = actions.cancel(feed, stream_id, letter.by)
        else:
            is_done = actions.decide(feed, stream_id, letter.ordinal, letter.decision, letter.by)
        await self._send(letter.sender, letters.Acted(self.name, letter.question, is_done))

    async def _show_wall(self, sender: str, again: bool) -> None:
        is_new = self._exports.want(sender)  # one that was forgotten does not know it: it may have heard from us since
        self._hub.tick_while_watched()
        if again or is_new:
            rows = self._exports.all(now_us())
            await self._send(sender, letters.Rows(self.name, self._exports.number, True, rows))

    def _take_rows(self, letter: letters.Rows) -> None:
        sender = self._senders.setdefault(letter.sender, _Sender())
        sender.heard_at = monotonic()
        if letter.is_all:
            sender.number = letter.number
            # A letter that said of some that they are gone may have been lost.
            self._drop_running(sender.ids - {row.id for row in letter.rows})
            self._rows_came.set()
        elif sender.number is None or letter.number != sender.number + 1:
            sender.number = None
            self._reminded_at = 0.0  # say at once what is wanted
        else:
            sender.number = letter.number
        sender.ids.update(row.id for row in letter.rows)
        self._hub.wall.take(letter.rows)
        self._drop_running(letter.gone)
        self._hub.tick_soon()

    async def _show_stream(self, sender: str, stream_id: uuid.UUID, again: bool) -> None:
        if stream := self._hub.feed.get(stream_id):
            await self._visitors.show(sender, stream, again)
        elif not self.are_workers:
            await self._send(sender, letters.StreamUnknown(self.name, stream_id))

    async def _relay(self, name: str, stream_id: uuid.UUID, said: Message) -> None:
        await self._send(name, letters.Relayed(self.name, stream_id, said.number, said.text, said.is_text, said.close))

    async def _tend(self) -> None:
        """Say what is wanted, and forget who wants nothing any more."""
        while True:
            await asyncio.sleep(TICK_SECONDS * 2)
            for stream_id, remote in list(self._remote.items()):
                if remote.answered.is_set() and remote.wants_snapshot:
                    await self._publish(letters.StreamWanted(self.name, stream_id, True))
            if self._own_counts() != self._told:
                await self._tell_counts()
            if monotonic() - self._reminded_at < REMIND_SECONDS:
                continue
            self._reminded_at = monotonic()
            await self._remind()
            self._forget()

    def _own_counts(self) -> tuple[int, int]:
        return count_held(self._hub.feed), Watcher.dropped_of_all

    async def _tell_counts(self) -> None:
        self._told = self._own_counts()
        await self._publish(letters.Counted(self.name, *self._told))

    async def _tell_rows(self, rows: list[RowSource], gone: list[uuid.UUID]) -> None:
        """To those alone who watch: for the others a letter would only be work."""
        letter = letters.Rows(self.name, self._exports.next_number(), False, rows, gone)
        for name in self._exports.wanted_by:
            await self._send(name, letter)

    def _note_forgotten(self) -> None:
        """Rows that the wall has let go of must be sent again."""
        if self._times_forgotten != self._hub.wall.times_forgotten:
            self._times_forgotten = self._hub.wall.times_forgotten
            self._senders.clear()

    async def _want_wall(self) -> None:
        await self._publish(letters.WallWanted(self.name, self._is_missing_rows()))

    def _is_missing_rows(self) -> bool:
        return not self._senders or any(sender.number is None for sender in self._senders.values())

    async def _remind(self) -> None:
        await self._tell_counts()  # always: it shows whether they can be reached
        if self.wants_ticks:  # silence would mean that we are gone
            await self._tell_rows([], [])
        if self._hub.has_wall_watchers:
            self._note_forgotten()
            await self._want_wall()
        else:
            self._senders.clear()
        for stream_id in list(self._remote):
            await self._publish(letters.StreamWanted(self.name, stream_id, False))

    def _forget(self) -> None:
        limit = monotonic() - FORGET_SECONDS
        self._exports.forget(FORGET_SECONDS)
        self._counts = {name: counts for name, counts in self._counts.items() if counts.heard_at >= limit}
        self._visitors.forget(limit)
        for name, sender in list(self._senders.items()):
            sender.ids &= self._hub.wall.entries.keys()
            if sender.heard_at < limit:
                # Its streams are over, or nobody can see them: those that had ended stay among the recent ones.
                self._drop_running(sender.ids)
                del self._senders[name]
        for stream_id, remote in list(self._remote.items()):
            if remote.answered.is_set() and remote.heard_at < limit:
                remote.close(TRY_AGAIN)
                del self._remote[stream_id]

    def _drop_running(self, ids: Iterable[uuid.UUID]) -> None:
        for stream_id in ids:
            entry = self._hub.wall.entries.get(stream_id)
            if entry and entry.ended_at is None:
                self._hub.wall.drop(stream_id)

    async def _publish(self, letter: letters.Any) -> None:
        await self._post(lambda message: self._layer.group_send(GROUP, message), letter)

    async def _send(self, name: str, letter: letters.Any) -> None:
        await self._post(lambda message: self._layer.send(name, message), letter)

    async def _post(self, post: Callable[[letters.Message], Awaitable[None]], letter: letters.Any) -> None:
        if not self.name:
            return  # nobody could answer
        with self._surviving():
            async with asyncio.timeout(ANSWER_SECONDS):
                await post({"type": "streamviz.letter", "letter": letters.pack(letter)})
            self._note_back()

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            self._note_failure(error)

    def _note_failure(self, error: Exception) -> None:
        """Said once a minute: there may be many letters in each second."""
        if isinstance(error, OSError | RedisError) and not self.is_away:
            self.is_away = self._hub.wall.are_others_away = self.are_workers
            self.on_away()
        if monotonic() - self._failure_told_at >= TELL_SECONDS:
            self._failure_told_at = monotonic()
            log.warning("the other workers cannot be reached: %s", error)

    def _note_back(self) -> None:
        if self.is_away:
            self.is_away = self._hub.wall.are_others_away = False
            for sender in self._senders.values():
                sender.number = None
            log.info("the other workers can be reached again")
