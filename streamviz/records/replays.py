"""Recorded streams that are sent again: what is kept of them, and their chunks, a run at a time."""

from uuid import UUID

from django.db import connection

from streamviz.core.model_names import REPLAY
from streamviz.records.models import Stream
from streamviz.records.runs import StoredChunk
from streamviz.records.tapes import kept, upstream_runs

# A replay's model has the names of its recording's, so only the recording itself may be replayed.
IS_REPLAY = "it is a replay itself"


def find(stream_id: UUID) -> Stream | None:
    """A recorded stream, without its request."""
    _require_usable()
    return Stream.objects.defer("request", "usage").filter(pk=stream_id).first()


def why_not(stream: Stream) -> str:
    """Why its upstream tape cannot be sent again, as a clause; empty if it can."""
    if not stream.outcome:
        return "it still runs"
    if stream.provider == REPLAY:
        return IS_REPLAY
    found = kept(stream.pk)
    if not found.is_whole:
        return "of some chunks only their sizes are kept, as a policy masked them or only shapes are stored"
    if not found.chunks:
        return "none of its chunks are kept" if stream.chunk_count else "upstream sent nothing"
    few = found.chunks != stream.chunk_count
    return f"only {found.chunks} of its {stream.chunk_count} chunks are kept" if few else ""


def chunks_from(stream_id: UUID, seq: int) -> list[StoredChunk]:
    """The chunks of the run that begins with `seq`; none after the last."""
    _require_usable()
    run = next(upstream_runs(stream_id, seq, seq + 1), None)
    return [] if run is None else list(run.chunks())


def _require_usable() -> None:
    """Close a broken connection, which Django otherwise does when one of its requests begins; none begins here."""
    if connection.errors_occurred:
        connection.close_if_unusable_or_obsolete()
