"""The process that has the browsers' websockets, so that sending to them and rendering the Live page never delay a
client.

It runs no streams: it hears of the workers' streams as another worker would. The server starts it with the first
websocket, and again after it has ended.
"""

import asyncio
import logging
import socket
import subprocess
from time import monotonic

from django.conf import settings

from streamviz.live.link import Link
from streamviz.live.peers import Peers
from streamviz.live.publisher import Publisher
from streamviz.serving import handover

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
_RETRY_SECONDS = 60.0


class Screens:
    """The server's side: hands websockets to the process, and tells it of the streams that run here."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._end: socket.socket | None = None
        self._tending: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def hand_over(self, descriptor: int, request: bytes) -> bool:
        """Hand a websocket's connection to the process. Return False if it cannot take it, so that the server has to
        serve it itself; that includes when Redis is away, as the process would then hear of no streams."""
        if self._publisher.wall.are_others_away:
            return False
        try:
            if self._end is None and monotonic() >= self._not_before:
                self._start()
        except OSError as error:
            log.warning("cannot start the websocket process: %s", error)
        return self._end is not None and handover.hand_over(self._end, descriptor, request)

    def _start(self) -> None:
        """Start the process. What it is handed before it is ready waits for it."""
        link, its_link = socket.socketpair()
        end, its_end = handover.pair()
        with its_link, its_end:
            process = subprocess.Popen(
                [*settings.PYTHON, "-m", "streamviz", "screens", str(its_link.fileno()), str(its_end.fileno())],
                cwd=settings.WORKING_DIR,
                stdin=subprocess.DEVNULL,
                pass_fds=(its_link.fileno(), its_end.fileno()),
                start_new_session=True,  # it ends when its link does, not at a terminal's Ctrl-C
            )
        self._end = end
        self._tending = asyncio.ensure_future(self._tend(process, Link(link, "server")))

    async def stop(self) -> None:
        """End the process, and with it what browsers watch."""
        if self._tending is not None:
            await asyncio.sleep(0)  # a task that is cancelled before it began would not clean up
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)

    async def _tend(self, process: "subprocess.Popen[bytes]", link: Link) -> None:
        # If the workers hear each other, the process is one of them.
        peers = None if settings.HAS_PEERS else Peers(self._publisher, link, are_workers=False)
        try:
            await link.open()
            if peers is not None:
                await peers.start()
            await link.lost.wait()
            self._note_end(link)
        finally:
            self._stop_giving()
            link.close()
            if peers is not None:
                await peers.stop()
            await asyncio.to_thread(_end, process)

    def _note_end(self, link: Link) -> None:
        if link.is_ready:
            log.warning("the websocket process ended; the next connection restarts it")
        else:
            self._not_before = monotonic() + _RETRY_SECONDS
            log.error("the websocket process does not start; the server handles websockets itself")

    def _stop_giving(self) -> None:
        if self._end is not None:
            self._end.close()
            self._end = None


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
