"""What the Live page shows of the record: the newest finished streams, and nothing that was deleted."""

import logging
import uuid
from collections.abc import Collection, Iterable, Iterator

from django.db import DatabaseError

from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.live.presentation.stream_views import view_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.reading import in_thread
from streamviz.records.entries import StreamEntries
from streamviz.records.queries import streams

log = logging.getLogger(__name__)

MOST_RECENT = 20


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
