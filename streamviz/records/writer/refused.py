"""Keep what Postgres refuses in files beside the journals, so that nothing is lost."""

import logging
import os
from pathlib import Path
from uuid import UUID

from streamviz.records.journal.encoding import append_record
from streamviz.records.journal.folder import REFUSED, create, private_folder, refused, unmarked_segment
from streamviz.records.writer.pending import Batch

log = logging.getLogger(__name__)


def set_aside(root: Path, batch: Batch, why: str) -> None:
    """Write a batch, in the journal's format, to the file of its stream."""
    about = {"fields": {"stream": str(batch.stream_id)}}
    log.error("stream %s cannot be stored and is set aside: %s", batch.stream_id, why, extra=about)
    records = bytearray()
    for entry in batch.entries:
        append_record(entry, records)
    # If a stream's beginning comes again, a restarted writer is reading the journal once more, so the file starts over.
    how = os.O_TRUNC if batch.opened else os.O_APPEND
    private_folder(root / REFUSED)
    with open(os.open(_file(root, batch.stream_id), os.O_WRONLY | os.O_CREAT | how, 0o600), "wb") as file:
        file.write(records)


def is_refused(root: Path, stream_id: UUID) -> bool:
    """Whether something of this stream is set aside."""
    return _file(root, stream_id).exists()


def hand_back(root: Path) -> int:
    """Turn the files of the streams that were set aside into an abandoned journal, which the writer then stores; gives
    how many there were. What is refused again is set aside again."""
    if not (files := refused(root)):
        return 0
    journal, lock = create(root)
    for number, file in enumerate(files, 1):
        file.rename(unmarked_segment(journal, number))
    os.close(lock)
    return len(files)


def _file(root: Path, stream_id: UUID) -> Path:
    return root / REFUSED / f"{stream_id}.segment"
