"""Drives one exchange: waits for upstream, answers and time, reports them to it, and carries out its commands."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from asgiref.typing import ASGISendCallable

from streamviz.core.errors import Cancelled, Denied, UpstreamError
from streamviz.exchange.commands import (
    Ask,
    Begin,
    CloseUpstream,
    Command,
    CutOff,
    End,
    Forget,
    Record,
    Respond,
    Send,
)
from streamviz.exchange.exchange import Exchange
from streamviz.proxy import http
from streamviz.proxy.observers import Observers
from streamviz.proxy.questions import Helpers, Questions
from streamviz.proxy.reads import Reads
from streamviz.proxy.slots import Slots
from streamviz.records.recorder import AnyEntry
from streamviz.upstream.answer import Answer


class Driver:
    """Carries out what an exchange decides. `cut_off` says why the client's connection is to be cut, if it is.
    `before_sending` is called each time before anything is sent."""

    def __init__(
        self, exchange: Exchange, observers: Observers, helpers: Helpers, send: ASGISendCallable, floods: Slots
    ) -> None:
        self.exchange = exchange
        self.recorder = observers.recorder
        self.cut_off = ""
        self.before_sending: Callable[[], None] | None = None
        self._stream = exchange.stream
        self._feed = observers.feed
        self._questions = Questions(helpers, exchange.stream)
        self._send = send
        self._floods = floods
        self._reads: Reads | None = None
        exchange.stream.decide = self._questions.decide

    def record(self, *entries: AnyEntry) -> None:
        """Record entries, and flush them."""
        recorder = self.recorder
        for entry in entries:
            recorder.append(entry)
        recorder.flush()
        if recorder.has_lost(self._stream.id):
            self.exchange.lost()

    async def carry_out(self) -> None:
        """Carry out all commands that are due now."""
        self._feed.changed(self._stream)
        if self.before_sending is not None:
            self.before_sending()
        for command in self.exchange.commands():
            if type(command) is Record:
                self.record(*command.entries)
            elif type(command) is Send:
                await http.body(self._send, command.data, more=not command.is_last)
            else:
                await self._do(command)

    async def settle(self) -> None:
        """Wait until nothing of this stream waits for an answer to a question, except from policies in shadow."""
        await self.carry_out()
        while self.exchange.is_waiting and not self._stream.life.is_over:
            await self._wait()

    async def carry(self, answer: Answer) -> None:
        """Carry an answer to its end, however it ends."""
        reads = self._reads = Reads(answer, self._floods)
        try:
            if self._stream.life.is_over:  # its client has left, and the call is about to be ended
                return
            self.exchange.answered(answer.status, answer.headers)
            await self.carry_out()
            await self._read(reads)
            await self.settle()
        finally:
            await self._close_upstream()

    async def finish_shadows(self) -> None:
        """Wait for answers that only policies in shadow want, once the client has everything."""
        while self.exchange.has_questions:
            await self._wait()

    def forget(self) -> None:
        """Stop asking questions: nobody waits for the answers any more."""
        self._stream.decide = None
        self._questions.close()

    def close(self) -> None:
        """Close the exchange: nothing more can happen to the stream."""
        self.forget()
        try:
            self.exchange.close()
        finally:
            for command in self.exchange.commands():
                if isinstance(command, Record):
                    self.record(*command.entries)

    async def _read(self, reads: Reads) -> None:
        exchange = self.exchange
        try:
            while exchange.is_reading:
                is_idle = reads.begun is None and exchange.is_idle
                data = await (anext(reads, None) if is_idle else self._next(reads))
                if data is None:
                    break
                exchange.received(data)
                if reads.has_ended:
                    exchange.ended()
                if exchange.may_wait:
                    await self._advance_slowly()
                else:
                    await exchange.advance()
                await self.carry_out()
        except UpstreamError as error:
            exchange.ended(error)
        except (Denied, Cancelled) as error:
            exchange.refused(error)
        else:
            exchange.ended()
        await self._advance_slowly()

    async def _advance_slowly(self) -> None:
        """Record what arrived, then have the policies judge it, sending keep-alives if one of them may wait."""
        if self.exchange.may_wait:
            await self.carry_out()
            await self._alive_during(self.exchange.advance())
        else:
            await self.exchange.advance()

    async def _alive_during(self, step: Coroutine[Any, Any, None]) -> None:
        running = asyncio.ensure_future(step)
        try:
            while not running.done() and not self._stream.life.is_over:
                await asyncio.wait((running,), timeout=self._until_keep_alive())
                if not running.done():
                    self.exchange.tick()
                    await self.carry_out()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        if not running.cancelled():
            running.result()

    async def _next(self, reads: Reads) -> bytes | None:
        """Upstream's next bytes, while questions are answered; None at its end, or if no more are wanted."""
        reading = reads.begin()
        while self.exchange.is_reading:
            await self._wait(reading)
            if reads is self._reads and reading.done():
                return reads.take()
        return None

    async def _wait(self, reading: "asyncio.Future[bytes] | None" = None) -> None:
        """Wait for upstream, for answers or until a keep-alive is due, whichever comes first."""
        waiting: set[asyncio.Future[Any]] = {self._questions.news()}
        if reading is not None:
            waiting.add(reading)
        done, _ = await asyncio.wait(waiting, timeout=self._until_keep_alive(), return_when=asyncio.FIRST_COMPLETED)
        for number, answer in self._questions.take():
            self.exchange.answer(number, answer)
        if not done:
            self.exchange.tick()
        await self.carry_out()

    def _until_keep_alive(self) -> float | None:
        due = self.exchange.keep_alive_at
        return None if due is None else max(0.0, (due - self._stream.context.now()) / 1_000_000)

    async def _do(self, command: Command) -> None:
        match command:
            case Begin(status, headers):
                await http.start(self._send, status, {**headers})
            case Respond(status, headers, body):
                await http.respond(self._send, status, {**headers}, body)
            case End():
                await http.body(self._send, b"")
            case CutOff(why):
                self.cut_off = why
            case Ask(question):
                self._questions.ask(question)
            case Forget(number):
                self._questions.forget(number)
            case CloseUpstream():
                await self._close_upstream()
            case _:
                pass

    async def _close_upstream(self) -> None:
        """Close the connection to upstream, even if it is being read."""
        reads, self._reads = self._reads, None
        if reads is not None:
            try:
                await reads.close()
            finally:
                # Whatever ends the answer: only now is it known what of it had no place in the client's format.
                self._stream.left_out = tuple(dict.fromkeys((*self._stream.left_out, *reads.answer.left_out)))
