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

# Many clients leave on seeing a stream's last word. What upstream gets to end its response after that.
END_SECONDS = 2.0

# Tells a call why it ends.
Say = Callable[[], None]
# Gives what is done when the client leaves.
Leaving = Callable[[], "asyncio.Future[Any]"]


def leaving_of(scope: HTTPScope, receive: ASGIReceiveCallable) -> "asyncio.Future[Any]":
    """Done, with the message that says so, when the client leaves. Our server has one; for the message of others a task
    has to wait."""
    ours: Any = (scope.get("extensions") or {}).get(LEFT)
    return asyncio.ensure_future(receive()) if ours is None else ours


class Endable(Protocol):
    """A call that somebody can end."""

    stream: LiveStream

    @property
    def has_sent_all(self) -> bool: ...
    def cancelled(self, by: str) -> None: ...
    def revoked(self) -> None: ...
    def stopped(self) -> None: ...


class Race:
    """A call beside those who may end it: `running` is the call, `leaving` its client; all others `say` why."""

    def __init__(
        self, call: Coroutine[None, None, None], leaving: "asyncio.Future[Any]", ended: Endable, worker: Worker
    ) -> None:
        loop = asyncio.get_running_loop()
        self.running = loop.create_task(call)
        self.leaving = leaving
        self.say: Say | None = None
        self._is_decided: asyncio.Future[None] = loop.create_future()
        self._end_of_patience: asyncio.TimerHandle | None = None
        self.running.add_done_callback(self._decide)
        self.leaving.add_done_callback(self._client_left)
        self._ended = ended
        self._worker = worker
        ended.stream.cancel = lambda by: self._stop(partial(ended.cancelled, by))
        worker.end_with_key(ended.stream, partial(self._stop, ended.revoked))

    async def first(self) -> None:
        """Return when the call is over, or somebody ends it."""
        with self._worker.stopped_by(partial(self._stop, self._ended.stopped)):
            await self._is_decided
        self._ended.stream.cancel = None

    async def close(self) -> None:
        """Nobody waits any more."""
        self._ended.stream.cancel = None
        self._worker.over(self._ended.stream)
        if self._end_of_patience is not None:
            self._end_of_patience.cancel()
        self.leaving.remove_done_callback(self._client_left)
        self.leaving.cancel()
        if not self.running.done():
            await _ended(self.running)

    def _stop(self, say: Say) -> bool:
        """Have the call end for this reason; False where it ends already, or is over."""
        if self._is_decided.done():
            return False
        self.say = say
        self._is_decided.set_result(None)
        return True

    def _client_left(self, _: "asyncio.Future[Any]") -> None:
        """One that has all of the answer does not end the call at once, which upstream has yet to end."""
        if self._ended.has_sent_all and not self.running.done():
            self._end_of_patience = asyncio.get_running_loop().call_later(END_SECONDS, self._decide)
        else:
            self._decide()

    def _decide(self, _: "asyncio.Future[Any] | None" = None) -> None:
        if not self._is_decided.done():
            self._is_decided.set_result(None)


async def until_over(
    call: Coroutine[None, None, None], leaving: "asyncio.Future[Any]", driver: Driver, worker: Worker
) -> None:
    """Run `call` to its end, or until the client leaves, a person cancels, the key is revoked or the server stops:
    upstream is closed at once then. Raises CannotEnd where the client's connection is to be cut."""
    exchange = driver.exchange
    race = Race(_guarded(call, driver), leaving, exchange, worker)
    running = race.running
    try:
        await race.first()
        if running.done():
            running.result()
        elif leaving.done():
            exchange.left(_why(leaving))
            await worker.floods.take()  # many may leave at once, and it takes a while to close a long stream
        elif race.say is not None:
            await _cut_short(driver, running, leaving, race.say)
    except asyncio.CancelledError:
        # The server has waited long enough: for an application whose client has left, or for all when it stops.
        if leaving.done():
            exchange.left(_why(leaving))
        raise
    finally:
        await race.close()
        exchange.dropped()
        await driver.carry_out()
    if driver.cut_off:
        raise http.CannotEnd(driver.cut_off)


async def _guarded(call: Coroutine[None, None, None], driver: Driver) -> None:
    """Where streamviz fails at a call, it ends, legally."""
    try:
        await call
    except Exception:
        log.exception("a stream broke off")
        if not driver.exchange.stream.life.is_over:
            driver.exchange.broke(InternalError())
        await driver.carry_out()


def _why(leaving: "asyncio.Future[Any]") -> str:
    """Why the server says that the client is gone; nothing where it just left."""
    return str(leaving.result().get(WHY, ""))


async def _cut_short(driver: Driver, running: "asyncio.Future[None]", leaving: "asyncio.Future[Any]", say: Say) -> None:
    """Stop carrying, then tell the client, who may have left or be reading nothing."""
    await _ended(running)
    if driver.exchange.stream.life.is_over:
        return
    say()
    telling = asyncio.ensure_future(driver.carry_out())
    await asyncio.wait((telling, leaving), timeout=LAST_WORDS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    await _ended(telling)


async def _ended(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
