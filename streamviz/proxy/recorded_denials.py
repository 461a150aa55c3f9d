"""Denied calls that this worker has not seen, looked up in the record: another worker had them, or this one before a
restart."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error

from streamviz.core.json_value import JsonObject
from streamviz.proxy.denied_outputs import UNDECIDED, outputs_for
from streamviz.proxy.sessions import Sessions
from streamviz.records.configuration import KnownKey
from streamviz.records.queries.denied_calls import DeniedCall, denied_calls

log = logging.getLogger(__name__)

# How long a client waits for a look-up; after a failure, none is made for a while.
_SECONDS = 1.0
_PAUSE_SECONDS = 30.0
# Separate threads: they hang when Postgres does, and requests need the event loop's other threads.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="denials")


class RecordedDenials:
    """What the record has of calls that clients did not get."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._paused_until = 0.0

    async def find(self, key: KnownKey, name: str) -> tuple[UUID, list[JsonObject]] | None:
        """The stream of the answer with that id, or of the last one in the conversation with that id, and the outputs
        for its calls; None if the record has none, or does not answer in time."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            return None
        mark = self._sessions.mark_of(key.told_apart_by, name)
        try:
            async with asyncio.timeout(_SECONDS):
                found = await database_sync_to_async(denied_calls, thread_sensitive=False, executor=_THREADS)(mark)
        except (Error, OSError, TimeoutError) as error:
            why = str(error).strip() or "the database does not answer"
            log.warning("denied calls of earlier answers are not known: %s", why)
            self._paused_until = loop.time() + _PAUSE_SECONDS
            return None
        return None if found is None else (found[0], _outputs(found[1]))


def _outputs(calls: Sequence[DeniedCall]) -> list[JsonObject]:
    return [output for call in calls for output in outputs_for(call.label, call.id, _why(call.policy))]


def _why(policy: str) -> str:
    return f"[Denied by policy {policy}.]" if policy else UNDECIDED
