"""Running a call until it is over, or until it is ended: by its client, by a person, with its key or with the
server."""

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
from streamviz.proxy.running_calls import LAST_WORDS_SECONDS
from streamviz.proxy.worker import Worker

log = logging.getLogger(__name__)

# Many clients leave when they see why an answer ended, or a stream's last word. This is how long upstream then gets to
# end its response.
END_SECONDS = 2.0

# Starts a call.
Call = Callable[[], Coroutine[None, None, None]]
# Tells a call why it ends.
Say = Callable[[], None]
# Returns a future that is done when the client leaves.
Leaving = Callable[[], "asyncio.Future[Any]"]


def leaving_of(scope: HTTPScope, receive: ASGIReceiveCallable) -> "asyncio.Future[Any]":
    """A future that is done when the client leaves; its result is the message that says so. Our server provides one;
    with any other, a task has to wait for the message."""
    ours: Any = (scope.get("extensions") or {}).get(LEFT)
    return asyncio.ensure_future(receive()) if ours is None else ours


def why_left(leaving: "asyncio.Future[Any]") -> str:
    """Why the client is gone, according to the server; empty if it just left."""
    return str(leaving.result().get(WHY, ""))


class Endable(Protocol):
    """A call that can be ended from outside."""

    stream: LiveStream

    @property
    def has_sent_answer(self) -> bool: ...
    def away(self) -> None: ...
    def left(self, why: str) -> None: ...
    def cancelled(self, by: str) -> None: ...
    def revoked(self) -> None: ...
    def stopped(self) -> None: ...


class Race:
    """A call, and whatever may end it early: `leaving` is done when its client leaves; anything else sets `say`, which
    tells the call why it ends.

    The call runs in the current task, which is cancelled to end it, as `asyncio.timeout` does: a task of its own would
    cost each call two turns of the event loop. `is_away` says that the client left with the whole answer.
    """

    def __init__(self, leaving: "asyncio.Future[Any]", ended: Endable, worker: Worker) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.leaving = leaving
        self.say: Say | None = None
        self.is_away = False
        self._task = task
        self._is_running = self._is_decided = self._is_ended = False
        self._end_of_patience: asyncio.TimerHandle | None = None
        self._ended = ended
        self._worker = worker
        self.leaving.add_done_callback(self._client_left)
        ended.stream.cancel = lambda by: self._stop(partial(ended.cancelled, by))
        worker.running.end_with_key(ended.stream, partial(self._stop, ended.revoked))

    async def run(self, call: Call) -> bool:
        """Run the call to its end. Return False if it was ended early: then its result does not matter. If its client
        left without the whole answer, the call has been told by then."""
        before = self._task.cancelling()
        try:
            with self._worker.running.stopped_by(partial(self._stop, self._ended.stopped)):
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
        if self._task.cancelling() > before:  # by somebody else, however the call handled it
            raise asyncio.CancelledError
        return not self._is_ended

    def close(self) -> None:
        """Stop watching: nobody waits any more."""
        self._worker.running.over(self._ended.stream)
        if self._end_of_patience is not None:
            self._end_of_patience.cancel()
        self.leaving.remove_done_callback(self._client_left)
        self.leaving.cancel()

    def _stop(self, say: Say) -> bool:
        """End the call for this reason. Return False if it is already ending or over."""
        if self._is_decided:
            return False
        self.say = say
        self._is_decided = self._is_ended = True
        if self._is_running:
            self._task.cancel()
        return True

    def _client_left(self, _: "asyncio.Future[Any]") -> None:
        """End the call, but not at once if the client has the whole answer: upstream has yet to end, and often to
        report usage."""
        if self._ended.has_sent_answer and not self._is_decided:
            self.is_away = True
            self._ended.away()
            self._end_of_patience = asyncio.get_running_loop().call_later(END_SECONDS, self._give_up)
        else:
            self._give_up()

    def _give_up(self) -> None:
        if not self._is_decided:
            self._is_decided = True
            self._worker.run_behind(self._end_in_turn())
            if not self.is_away:
                self._ended.left(why_left(self.leaving))

    async def _end_in_turn(self) -> None:
        await self._worker.floods.take()  # many may leave at once, and closing a long stream takes a while
        if self._is_running:
            self._is_ended = True
            self._task.cancel()


async def until_over(call: Call, leaving: "asyncio.Future[Any]", driver: Driver, worker: Worker) -> None:
    """Run `call` to its end, or until the client leaves, a person cancels it, its key is revoked or the server stops;
    upstream is then closed at once. Raises CannotEnd if the client's connection is to be cut."""
    exchange = driver.exchange
    race = Race(leaving, exchange, worker)
    try:
        is_whole = await race.run(partial(_guarded, call, driver))
        if not is_whole and leaving.done():
            if race.is_away:
                await _end_without_upstream(driver)
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


async def _end_without_upstream(driver: Driver) -> None:
    """The client has the whole answer: it ends as it would have if upstream had ended it."""
    if driver.exchange.is_reading:
        driver.exchange.ended()
        await driver.exchange.advance()
        await driver.carry_out()


async def _guarded(call: Call, driver: Driver) -> None:
    """Run the call; if streamviz itself fails, end it legally."""
    try:
        await call()
    except Exception:
        log.exception("a stream broke off")
        if not driver.exchange.stream.life.is_over:
            driver.exchange.broke(InternalError())
        await driver.carry_out()


async def _cut_short(driver: Driver, leaving: "asyncio.Future[Any]", say: Say) -> None:
    """Tell the client why its call ends; it may have left, or may not be reading, so wait only so long."""
    say()
    telling = asyncio.ensure_future(driver.carry_out())
    await asyncio.wait((telling, leaving), timeout=LAST_WORDS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
