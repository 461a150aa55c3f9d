"""Running a call until it is over, or until somebody ends it: its client, a person, its key's end, the server's."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from asgiref.typing import ASGIReceiveCallable, HTTPScope

from streamviz.asgi_types import LEFT, WHY
from streamviz.core.errors import InternalError
from streamviz.exchange.stream import LiveStream
from streamviz.proxy import http
from streamviz.proxy.driver import Driver
from streamviz.proxy.worker import LAST_WORDS_SECONDS, Worker

log = logging.getLogger(__name__)

# Many clients leave on seeing why an answer ended, or a stream's last word. What upstream gets to end its response
# after that.
END_SECONDS = 2.0

# A call, to be run.
Call = Callable[[], Coroutine[None, None, None]]
# Tells a call why it ends.
Say = Callable[[], None]
# Gives what is done when the client leaves.
Leaving = Callable[[], "asyncio.Future[Any]"]


def leaving_of(scope: HTTPScope, receive: ASGIReceiveCallable) -> "asyncio.Future[Any]":
    """Done, with the message that says so, when the client leaves. Our server has one; for the message of others a task
    has to wait."""
    ours: Any = (scope.get("extensions") or {}).get(LEFT)
    return asyncio.ensure_future(receive()) if ours is None else ours


def why_left(leaving: "asyncio.Future[Any]") -> str:
    """Why the server says that the client is gone; nothing where it just left."""
    return str(leaving.result().get(WHY, ""))


class Endable(Protocol):
    """A call that somebody can end."""

    stream: LiveStream

    @property
    def has_sent_answer(self) -> bool: ...
    def away(self) -> None: ...
    def left(self, why: str) -> None: ...
    def cancelled(self, by: str) -> None: ...
    def revoked(self) -> None: ...
    def stopped(self) -> None: ...


class Race:
    """A call beside those who may end it: `leaving` is its client; all others `say` why.

    It runs in the task that asks for it, which whoever ends it cancels, as `asyncio.timeout` does: a task of the call's
    own would cost each of them two turns of the event loop.
    """

    def __init__(self, leaving: "asyncio.Future[Any]", ended: Endable, worker: Worker) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.leaving = leaving
        self.say: Say | None = None
        self._task = task
        self._is_running = self._is_decided = self._is_ended = False
        self._end_of_patience: asyncio.TimerHandle | None = None
        self._ended = ended
        self._worker = worker
        self.leaving.add_done_callback(self._client_left)
        ended.stream.cancel = lambda by: self._stop(partial(ended.cancelled, by))
        worker.end_with_key(ended.stream, partial(self._stop, ended.revoked))

    async def run(self, call: Call) -> bool:
        """Run the call to its end; False where somebody ends it before: what it then comes to is no matter. That its
        client left it has been told by then."""
        before = self._task.cancelling()
        try:
            with self._worker.stopped_by(partial(self._stop, self._ended.stopped)):
                if not self._is_ended:
                    self._is_running = True
                    await call()
        except (Exception, asyncio.CancelledError):
            if not self._is_ended:
                raise
        finally:
            if self._is_running and self._is_ended:
                self._task.uncancel()
            self._is_running, self._is_decided = False, True
            self._ended.stream.cancel = None
        if self._task.cancelling() > before:  # by somebody else, whatever the call has made of that
            raise asyncio.CancelledError
        return not self._is_ended

    def close(self) -> None:
        """Nobody waits any more."""
        self._worker.over(self._ended.stream)
        if self._end_of_patience is not None:
            self._end_of_patience.cancel()
        self.leaving.remove_done_callback(self._client_left)
        self.leaving.cancel()

    def _stop(self, say: Say) -> bool:
        """Have the call end for this reason; False where it ends already, or is over."""
        if self._is_decided:
            return False
        self.say = say
        self._is_decided = self._is_ended = True
        if self._is_running:
            self._task.cancel()
        return True

    def _client_left(self, _: "asyncio.Future[Any]") -> None:
        """One that has all of the answer does not end the call at once: upstream has yet to end, and often to say what
        it took."""
        if self._ended.has_sent_answer and not self._is_decided:
            self._ended.away()
            self._end_of_patience = asyncio.get_running_loop().call_later(END_SECONDS, self._give_up)
        else:
            self._give_up()

    def _give_up(self) -> None:
        if not self._is_decided:
            self._is_decided = True
            self._worker.run_behind(self._end_in_turn())
            self._ended.left(why_left(self.leaving))

    async def _end_in_turn(self) -> None:
        await self._worker.floods.take()  # many may leave at once, and it takes a while to close a long stream
        if self._is_running:
            self._is_ended = True
            self._task.cancel()


async def until_over(call: Call, leaving: "asyncio.Future[Any]", driver: Driver, worker: Worker) -> None:
    """Run `call` to its end, or until the client leaves, a person cancels, the key is revoked or the server stops:
    upstream is closed at once then. Raises CannotEnd where the client's connection is to be cut."""
    exchange = driver.exchange
    race = Race(leaving, exchange, worker)
    try:
        is_whole = await race.run(partial(_guarded, call, driver))
        if not is_whole and leaving.done():
            exchange.left(why_left(leaving))
        elif race.say is not None and not (is_whole or exchange.stream.life.is_over):
            await _cut_short(driver, leaving, race.say)
    except asyncio.CancelledError:
        # The server has waited long enough: for an application whose client has left, or for all when it stops.
        if leaving.done():
            exchange.left(why_left(leaving))
        raise
    finally:
        race.close()
        exchange.dropped()
        await driver.carry_out()
    if driver.cut_off:
        raise http.CannotEnd(driver.cut_off)


async def _guarded(call: Call, driver: Driver) -> None:
    """Where streamviz fails at a call, it ends, legally."""
    try:
        await call()
    except Exception:
        log.exception("a stream broke off")
        if not driver.exchange.stream.life.is_over:
            driver.exchange.broke(InternalError())
        await driver.carry_out()


async def _cut_short(driver: Driver, leaving: "asyncio.Future[Any]", say: Say) -> None:
    """Tell the client, who may have left or be reading nothing."""
    say()
    telling = asyncio.ensure_future(driver.carry_out())
    await asyncio.wait((telling, leaving), timeout=LAST_WORDS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
