"""What Postgres will not take, kept in files beside the journals so that nothing is lost."""

import logging
import os
from pathlib import Path
from uuid import UUID

from streamviz.records.journal.encoding import append_record
from streamviz.records.journal.folder import REFUSED, create, private_folder, refused, unmarked_segment
from streamviz.records.writer.pending import Batch

log = logging.getLogger(__name__)


def set_aside(root: Path, batch: Batch, why: str) -> None:
    """Put a batch, in the journal's format, into the file of its stream."""
    about = {"fields": {"stream": str(batch.stream_id)}}
    log.error("stream %s cannot be stored and is set aside: %s", batch.stream_id, why, extra=about)
    records = bytearray()
    for entry in batch.entries:
        append_record(entry, records)
    # A stream that begins again is read once more from the journal, by a restarted writer.
    how = os.O_TRUNC if batch.opened else os.O_APPEND
    private_folder(root / REFUSED)
    with open(os.open(_file(root, batch.stream_id), os.O_WRONLY | os.O_CREAT | how, 0o600), "wb") as file:
        file.write(records)


def is_refused(root: Path, stream_id: UUID) -> bool:
    """Whether something of this stream is set aside."""
    return _file(root, stream_id).exists()


def hand_back(root: Path) -> int:
    """Make the streams that were set aside a journal again, which the writer stores as one that was left behind; gives
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
