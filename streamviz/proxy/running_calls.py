"""The calls that run in a worker, and what ends them all, or those of a key."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from streamviz.exchange.stream import LiveStream
from streamviz.records.configuration import Configuration

# How long a client that reads nothing gets to take the end of a stream that is cut short.
LAST_WORDS_SECONDS = 2.0
_LOOK_SECONDS = 0.1

End = Callable[[], object]


class RunningCalls:
    """`is_draining` says that the server is stopping, `is_over` that it waits no longer."""

    def __init__(self, configuration: Configuration) -> None:
        self.is_draining = False
        self.is_over = False
        self._configuration = configuration
        self._tasks: set[asyncio.Task[object]] = set()
        self._endings: set[End] = set()
        self._with_key: dict[UUID, tuple[int, End]] = {}

    def begin(self) -> None:
        """Count the calling task among them, until it ends."""
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float, may_come: Callable[[], bool]) -> None:
        """Wait for them to end, and for those that existing connections may still bring, at most this long; then end
        the rest."""
        self.is_draining = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while (self._tasks or may_come()) and (left := deadline - loop.time()) > 0:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=left)
            else:
                await asyncio.sleep(min(left, _LOOK_SECONDS))
        self.is_over = True
        for end in list(self._endings):
            end()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * LAST_WORDS_SECONDS)

    @contextmanager
    def stopped_by(self, end: End) -> Iterator[None]:
        """While the context lasts, `end` is called if the server stops and waits no longer."""
        self._endings.add(end)
        try:
            yield
        finally:
            self._endings.discard(end)

    def end_with_key(self, stream: LiveStream, end: End) -> None:
        """Call `end` when the key of a running stream is revoked, or at once if it was revoked meanwhile."""
        if stream.key_id is not None:
            self._with_key[stream.id] = (stream.key_id, end)
            if not self._configuration.is_in_use(stream.key_id):
                end()

    def over(self, stream: LiveStream) -> None:
        """The stream is no longer running."""
        self._with_key.pop(stream.id, None)

    def end_revoked(self) -> None:
        """Keys may have been revoked: end the streams of those that were."""
        for key_id, end in list(self._with_key.values()):
            if not self._configuration.is_in_use(key_id):
                end()
