"""Reading the record for live pages. The Live page shows its newest finished streams, and nothing that was deleted."""

import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import DatabaseError

from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.live.presentation.stream_views import view_of
from streamviz.live.presentation.views import StreamView
from streamviz.records.entries import StreamEntries
from streamviz.records.queries import streams

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_RECENT = 20
# Reading may take long, and must not keep those waiting who open a live page meanwhile.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="record")


def in_thread(read: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Turn a function that reads the record into one for the event loop."""
    return database_sync_to_async(read, thread_sensitive=False, executor=_THREADS)


class Recorded:
    """Asks Postgres; while that cannot answer, it finds nothing."""

    async def recent(self) -> list[StreamView]:
        """The newest finished streams, for a Live page whose worker did not see them end."""
        try:
            newest = await in_thread(streams.newest)(MOST_RECENT, TAIL_CHARACTERS)
        except DatabaseError as error:
            log.warning("the newest streams of the record cannot be read: %s", error)
            return []
        return list(_readable(newest))

    async def deleted(self, stream_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
        """Which of these were deleted."""
        try:
            return await in_thread(streams.deleted)(stream_ids)
        except DatabaseError as error:
            log.warning("what was deleted of the record cannot be read: %s", error)
            return set()


def _readable(newest: Iterable[StreamEntries]) -> Iterator[StreamView]:
    """One stream that cannot be read must not keep all others from being shown."""
    for entries in newest:
        try:
            yield view_of(entries)
        except Exception:
            log.exception("the stream %s of the record cannot be shown", entries.opened.stream_id)
