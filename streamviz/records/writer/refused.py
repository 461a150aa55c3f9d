"""What Postgres will not take, kept in files beside the journals so that nothing is lost."""

import logging
from pathlib import Path

from streamviz.records.journal.encoding import append_record
from streamviz.records.writer.pending import Batch

log = logging.getLogger(__name__)

FOLDER = "refused"


def set_aside(root: Path, batch: Batch, why: str) -> None:
    """Put a batch, in the journal's format, into the file of its stream."""
    log.error("stream %s cannot be stored and is set aside: %s", batch.stream_id, why)
    records = bytearray()
    for entry in batch.entries:
        append_record(entry, records)
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    # A stream that begins anew is read again from the journal, by a writer that was started anew.
    with (folder / f"{batch.stream_id}.segment").open("wb" if batch.opened else "ab") as file:
        file.write(records)


def refused(root: Path) -> list[Path]:
    """The files of streams that were set aside."""
    return sorted((root / FOLDER).glob("*.segment"))
