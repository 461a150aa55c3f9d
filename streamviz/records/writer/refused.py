"""What Postgres will not take, kept in files beside the journals so that nothing is lost."""

import logging
from pathlib import Path

from streamviz.records.journal.encoding import append_record
from streamviz.records.writer.pending import Batch

log = logging.getLogger(__name__)

FOLDER = "refused"


def set_aside(root: Path, batch: Batch, why: str) -> None:
    """Append a batch, in the journal's format, to the file of its stream."""
    log.error("stream %s cannot be stored and is set aside: %s", batch.stream_id, why)
    records = bytearray()
    for entry in batch.entries:
        append_record(entry, records)
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / f"{batch.stream_id}.segment").open("ab") as file:
        file.write(records)


def refused(root: Path) -> list[Path]:
    """The files of streams that were set aside."""
    return sorted((root / FOLDER).glob("*.segment"))
