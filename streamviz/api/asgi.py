"""The ASGI application below /api/, which runs without Django's middleware."""

import asyncio
import logging
import re
from collections.abc import Coroutine
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.db import DatabaseError

from streamviz.api import admission, readers
from streamviz.api.events import Wanted, send_events, send_head
from streamviz.core.errors import ClientFacingError, InternalError, RequestError, Unavailable
from streamviz.core.wire import OPENAI_CHAT
from streamviz.proxy import cors, http
from streamviz.proxy.paths import no_such
from streamviz.proxy.refusals import refused
from streamviz.proxy.worker import Worker, worker
from streamviz.records.archive.bucket import ChunksAway
from streamviz.records.archive.reading import in_thread, require_readable

log = logging.getLogger(__name__)

PREFIX = "/api/"
_EVENTS = re.compile(r"/api/streams/(?P<id>[^/]+)/events/?")
_HINT = " A stream's events are at /api/streams/<id>/events."


async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Errors are in OpenAI's format, as long as no answer has begun."""
    header = partial(http.header, scope)
    if cors.is_preflight(scope["method"], header):
        await http.respond(send, 204, cors.preflight_headers(header), b"")
        return
    send = cors.fitting(scope["method"], header, send)
    answering = http.Answering(send)
    try:
        await _answer(scope, receive, answering)
    except ClientFacingError as error:
        await _tell(scope, send, error)
    except ChunksAway as error:
        log.warning("%s: %s", scope["path"], error)
        if not answering.has_begun:
            await _tell(scope, send, Unavailable(f"chunks of this stream cannot be read just now: {error}"))
    except DatabaseError as error:
        log.warning("%s: %s", scope["path"], error)
        if not answering.has_begun:
            await _tell(scope, send, Unavailable("the record cannot be read just now"))
    except Exception:
        log.exception("%s failed", scope["path"])
        if not answering.has_begun:
            await _tell(scope, send, InternalError())


async def _answer(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    found = _EVENTS.fullmatch(scope["path"])
    if found is None:
        raise no_such(scope["path"], _HINT)
    if scope["method"] not in ("GET", "HEAD"):
        raise RequestError(405, "Events are read with GET.", code="method_not_allowed", headers={"allow": "GET, HEAD"})
    reader = await readers.reader_of(scope, worker)
    wanted = Wanted.of(scope, reader)
    with admission.counted(reader):
        stream = await admission.stream_for(reader, found["id"])
        if stream.outcome:
            await in_thread(require_readable)(stream.pk)
        if scope["method"] == "HEAD":
            await send_head(wanted, send)
            await http.body(send, b"")
            return
        await _until_gone(send_events(stream, wanted, reader, send), receive, worker)


async def _until_gone(sending: Coroutine[None, None, None], receive: ASGIReceiveCallable, worker: Worker) -> None:
    """Run it until it is over, its reader leaves, or the server stops."""
    running, leaving = asyncio.ensure_future(sending), asyncio.ensure_future(_left(receive))
    try:
        with worker.running.stopped_by(running.cancel):
            await asyncio.wait((running, leaving), return_when=asyncio.FIRST_COMPLETED)
        if running.done() and not running.cancelled():
            running.result()
    finally:
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


async def _left(receive: ASGIReceiveCallable) -> None:
    """Return once the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _tell(scope: HTTPScope, send: ASGISendCallable, error: ClientFacingError) -> None:
    status, headers, body = OPENAI_CHAT.error_answer(error)
    await http.respond(send, status, {**headers, **refused(scope, scope["path"], error)}, body)
