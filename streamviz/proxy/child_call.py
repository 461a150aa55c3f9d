"""A call that a run makes. It is served like any client's: the same code records, judges, counts and ends it, with the
run as the client that reads it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from asgiref.typing import ASGIReceiveEvent, ASGISendCallable, ASGISendEvent

from streamviz.core.errors import Cancelled, ClientFacingError, Denied, InternalError, UpstreamError
from streamviz.core.json_value import JsonObject, as_object, as_text, object_in
from streamviz.core.outcome import Outcome
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.executors.child import Spent
from streamviz.proxy import http
from streamviz.proxy.leaving import Leaving
from streamviz.upstream.redaction import told_headers

log = logging.getLogger(__name__)

# Pieces that the run has not read yet; with more than these the call waits for the run, as for any slow client.
_MOST_WAITING = 16
# How long a call gets to end when its run does.
_CLOSE_SECONDS = 0.4
_NOTHING = Spent({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, 0.0)


Serve = Callable[[Leaving, ASGISendCallable], Awaitable[None]]


class ChildCall:
    """One call of a run, in a task of its own."""

    def __init__(self) -> None:
        self._cost: float | None = None
        self._usage: JsonObject | None = None
        self._status = 200
        self._headers: dict[str, str] = {}
        # Whether streamviz halted it: then the error in its answer is ours, not its provider's.
        self._is_halted = False
        self._error: ClientFacingError | None = None
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_WAITING)
        self._has_left = asyncio.Event()

    def begin(self, serve: Serve) -> "ChildCall":
        """Start serving it."""
        self._task = asyncio.ensure_future(self._run(serve))
        return self

    def came_to(self, dollars: float | None, outcome: str) -> None:
        """Note what the call cost (None if unknown) and how it ended."""
        self._cost, self._is_halted = dollars, outcome == Outcome.HALTED

    @property
    def spent(self) -> Spent:
        if self._status >= 300:
            return _NOTHING  # it was refused
        return Spent(self._usage, self._cost)

    async def __aiter__(self) -> AsyncIterator[JsonObject]:
        parser, refusal = SSEParser(), b""
        while (piece := await self._pieces.get()) is not None:
            if self._status >= 300:
                refusal += piece
                continue
            for event in parser.feed(piece):
                payload = self._payload(event)
                if error := as_object(payload.get("error")):
                    self._error = self._broken_off(error)
                elif payload:
                    yield payload
        if self._status >= 300 and self._error is None:
            self._error = self._refused(refusal)
        if self._error is not None:
            raise self._as_halted(self._error)

    async def close(self) -> None:
        self._has_left.set()
        while not self._pieces.empty():
            self._pieces.get_nowait()  # the task may be waiting to put one more
        await asyncio.wait((self._task,), timeout=_CLOSE_SECONDS)
        self._task.cancel()

    def _payload(self, event: SSEEvent) -> JsonObject:
        """What a chunk says; empty if it says nothing."""
        payload = object_in(event.data)
        self._usage = as_object(payload.get("usage")) or self._usage
        return payload

    def _broken_off(self, error: JsonObject) -> UpstreamError:
        """The error that a chunk reports. Raises it, unless it may be ours: that is known only once the call is
        over."""
        broken_off = _error(502, error, "the call broke off")
        if broken_off.code not in (Denied.CODE, Cancelled.CODE):
            raise broken_off
        return broken_off

    def _as_halted(self, error: ClientFacingError) -> ClientFacingError:
        """Make a halt of the call, by a policy or a person, a halt of its run too; the same code from upstream means
        nothing."""
        if self._is_halted and error.code == Denied.CODE:
            return Denied(error.message, error.status, error.kind)
        if self._is_halted and error.code == Cancelled.CODE:
            return Cancelled(error.message)
        return error

    def _refused(self, body: bytes) -> ClientFacingError:
        """Why the call was refused."""
        told = as_object(object_in(body).get("error"))
        return _error(self._status, told, f"the call was answered {self._status}", self._headers)

    async def _run(self, serve: Serve) -> None:
        try:
            await serve(lambda: asyncio.ensure_future(self._receive()), self._send)
        except ClientFacingError as error:
            self._error = UpstreamError(
                error.status,
                error.message,
                kind=error.kind,
                code=error.code,
                param=error.param,
                headers=error.headers,
            )
        except http.CannotEnd as error:
            self._error = UpstreamError(502, str(error))
        except Exception:
            log.exception("a call of a run failed")
            self._error = InternalError()
        finally:
            await self._put(None)

    async def _receive(self) -> ASGIReceiveEvent:
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            self._status = event["status"]
            sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in event["headers"]}
            self._headers = told_headers(sent)
        elif event["type"] == "http.response.body" and event["body"]:
            await self._put(event["body"])

    async def _put(self, piece: bytes | None) -> None:
        if not self._has_left.is_set():
            await self._pieces.put(piece)


def _error(status: int, told: JsonObject, otherwise: str, headers: dict[str, str] | None = None) -> UpstreamError:
    """An error in chat's format as one in no format: the run's client may speak another."""
    kind, message = (as_text(told.get(name)) for name in ("type", "message"))
    code, param = (as_text(told.get(name)) or None for name in ("code", "param"))
    kind = kind or "upstream_error"
    return UpstreamError(status, message or otherwise, kind=kind, code=code, param=param, headers=headers)
